// Package exec runs queries on a BE: as the coordinator of a statement (Query)
// and as the owner of tablets for another coordinator (Scan).
//
// Before the first row each fragment pins its tablets at the versions that the
// FE took: a Pebble snapshot and the files (docs/protocol.md, rule 13). Rows
// that are still inline become private tables of the query, files are scanned
// in place, rows of other BEs come as a stream.
//
// An error of reading a tablet says on which backend (doriserr.Place), so that the
// FE can plan the query again with another replica.
//
// Expressions are those of loads: compiled once for a mapping, evaluated for many
// small loads together.
package exec
