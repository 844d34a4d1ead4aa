// Package sink takes the rows of a group, or of a load without group commit,
// from block to VISIBLE: it builds each tablet's rowset once, with its bytes
// and checksum, writes the same bytes to every replica, and asks the leading FE
// to begin, commit or abort (docs/protocol.md, rules 5 and 14). It is what
// package groupcommit sees as its Sink.
package sink
