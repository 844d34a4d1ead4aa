// Package block holds rows as typed column vectors in Arrow's memory layout:
// what a load is decoded into, what a group collects, what is sorted into
// rowsets and shown to the execution engine. Its codec is the form in which
// rows go to the WAL, to other nodes and into small rowsets.
//
// Invariants:
//
//   - Values are legal for their column's type; AppendText and DecodeAppend
//     see to it, callers of the other appenders do.
//   - The slot of a NULL is zero bytes or empty, so that equal rows have equal
//     bytes: replicas are compared by checksum.
//   - A block has exactly one encoding (docs/format/block.md), and its bytes
//     are its only identity.
//   - A column holds at most 2 GiB of strings (ErrFull).
//
// A Block belongs to one goroutine at a time and takes no lock; several may
// read one that no longer changes. Appends in the hot path (AppendText,
// AppendBlock, DecodeAppend) do not allocate once the vectors have grown;
// Reset keeps their memory.
//
// Start with block.go and column.go, then text.go (conversion), encode.go and
// decode.go (codec), sort.go and gather.go (making rowsets).
package block
