// Package bulkload loads files of any size into a table, in chunks, each a
// Stream Load under a label of its own: what `dorisgo load` does.
//
// A chunk's label is made of the prefix, a hash of the chunk's bytes and the
// table, and its offset (label.go). The server takes a label once, so the same
// chunk is loaded once, however often it is sent: after a lost answer, a killed
// client, or by a second run from another machine. There is no local state.
//
// Invariants:
//   - A retry of a chunk has the same label and the same bytes. Bytes that
//     changed since they were hashed never complete a load (chunk.go).
//   - A chunk ends where a row ends (split.go), as the server cuts rows, and the
//     cuts depend on the file, the form headers and the chunk size alone.
//   - Memory does not grow with files or chunks: files are read twice, to hash and
//     to send; streams that cannot be read twice go through temporary files.
//   - The report counts a chunk as loaded only by an answer of the server.
//
// Start reading at load.go.
package bulkload
