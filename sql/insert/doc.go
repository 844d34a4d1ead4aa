// Package insert reads INSERT INTO ... VALUES from the bytes of a MySQL packet
// straight into block vectors: no syntax tree, no boxed values, no allocation
// for each row. Prepared statements take the same way: a parameter is a value
// whose bytes lie in the execute packet instead of the text.
//
// The order of work:
//
//	ParseHeader (or Headers, which remembers)  -> Header: table, columns, where VALUES ends
//	NewTarget                                  -> Target: value position to block column, defaults
//	Decoder.Text / Decoder.Binary              -> rows in the block, counts, or an error
//
// Prepare counts and checks the parameters of a statement; Params takes an
// execute packet apart.
//
// Invariants, each with the test that breaks without it:
//   - a statement is atomic: after an error the block is as it was
//     (TestErrors, FuzzText, FuzzParams);
//   - every rejected value shows: in strict mode as an error that names row and
//     column, else in Result.Filtered or as a NULL (TestNotStrict);
//   - a literal is data and passes through no text format that gives some bytes
//     a second meaning (TestStrings);
//   - defaults such as CURRENT_TIMESTAMP are those of the statement
//     (TestDefaults);
//   - a cut packet is an error, leaves the known parameter types alone, and
//     never a panic (TestParamsCut, FuzzParams).
//
// How a literal becomes a value of a type is decided in packages value and
// block alone, so that INSERT, CSV and JSON agree.
package insert
