// Package rowset describes what one transaction wrote into one tablet, and
// turns the description into the bytes that the storage keeps.
//
// A rowset is built once, by the load's coordinator: its rows are sorted by
// (key, ordinal) and encoded, and every replica stores the same bytes under the
// same id (docs/protocol.md, rule 14). It is immutable; only its place changes:
// pending under a transaction, then live at a version, then replaced by a
// rowset that covers several versions.
//
// The byte formats are specified in docs/format/rowset.md and pinned by
// testdata/golden.txt. Start with Meta and Record.
package rowset
