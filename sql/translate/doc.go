// Package translate turns a SELECT in MySQL's dialect, as Doris understands it,
// into SQL for DuckDB. Start at Select.
//
// DuckDB knows many functions and means something else than MySQL with some of
// them, so nothing passes through: every operator and function is a rule here
// (funcs.go is the table of functions), and whatever has no rule is refused by
// name with doriserr.Unsupported. All names are resolved here as well: the SQL
// mentions relations by the placeholders "__t0", "__t1", ... and never a name
// that a client wrote, except as the name of a result column or of a column
// found in the catalog.
//
// Types are followed through expressions as far as rules need them (type.go):
// MySQL compares a date with a string as dates, divides integers into a
// fraction and takes a number for a condition; DuckDB does none of it. An
// expression whose type is not known (Invalid) is left alone.
//
// Statements that touch no table are evaluated here (constant.go), so that
// clients can ask SELECT 1 or SELECT @@version with no backend alive.
//
// Invariants:
//   - Select never panics, whatever the text (FuzzSelect).
//   - A string literal arrives as the same bytes: backslash escapes are MySQL's
//     on the way in, and none exist on the way out (testdata/literals.txt).
//   - The golden files in testdata say what becomes of what; package query
//     runs the same statements against DuckDB.
package translate
