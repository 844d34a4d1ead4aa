// Package router chooses nodes and opens no socket: which BE takes a table's
// group commit loads (Groups), and whose turn it is (RoundRobin).
//
// All loads of a table go to one BE while it is healthy, so that they merge.
// Every FE ranks the BEs of a table by the same hash, so that FEs agree
// without asking each other. A table spreads over the next BEs in its rank only
// while its load window says that one BE is saturated, and never if the order
// of its groups matters (docs/protocol.md, H34).
package router
