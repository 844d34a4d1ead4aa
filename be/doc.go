// Package be is a backend: Stream Load and the INSERTs of FEs, group commit with
// its write-ahead log, the coordinator of transactions, tablets, and query
// fragments. Node (node.go) wires the parts of one process life together.
//
// A start goes in this order, and each step is the reason for the next:
// directories are opened and prove their identity; the FE gives this life a
// boot epoch; the directories remember it; the catalog copy arrives; groups of
// earlier lives are taken over; only then loads are admitted. A stop goes the
// other way: no new loads, groups committed or left in their WAL, waiters
// answered, connections closed, storage closed.
package be
