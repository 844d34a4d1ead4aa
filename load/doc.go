// Package load turns the bytes of a load into blocks: the part that is the same
// for every format. It knows no HTTP and no SQL engine.
//
// A load is an Input (a window over the body), a decoder of the format
// (load/csv, load/json), and Rows, which converts one row's source fields by a
// Mapping into the columns of a block, decides about rows that do not fit and
// counts them.
//
// Derived columns and conditions are expressions. Those that are literals, other
// names or the request's time are settled when the Mapping is made; the others are
// programs (program.go) that an engine evaluates for up to MaxBatch rows at a time
// (stage.go). A load without them takes the direct way from fields to the block.
//
// Invariants:
//   - The same bytes give the same rows, wherever the transport cuts them.
//   - Total = Loaded + Filtered + Unselected after every row.
//   - A row is in the block with all its columns or not at all.
//   - Memory is bounded by the window (one row at most) and the caller's block
//     size.
//   - Defaults are evaluated once, when the Mapping is made.
//
// Conversion rules are those of package value. Without strict mode a value that
// cannot be converted becomes NULL, and its row is filtered only if the column
// is NOT NULL; in strict mode its row is filtered. Text that is not UTF-8
// always filters its row.
//
// Rows that need no second look are collected in a Batch and converted column by
// column; a batch in which a row is to be filtered is done again row by row, so
// that there is one place that decides and words.
//
// Start reading at mapping.go, then rows.go, then batch.go.
package load
