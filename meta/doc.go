// Package meta is the replicated state of a cluster: the catalog as plain
// values, and the rules of every change as a deterministic Apply.
//
// Where to start: catalog.go (the objects), command.go (every change that can
// be asked for), state.go (what can be looked up), apply.go (the one door for
// changes). Transactions are package meta/txn; table properties meta/prop;
// password checks meta/priv. codec*.go alone convert to and from the wire form
// (rpc/metapb), for the raft log (docs/format/commands.md) and for snapshots
// (docs/format/snapshot.md).
//
// What holds:
//
//   - Apply depends on the State and the command alone: no clock, no
//     randomness, no map order, no I/O, and it calls nobody (docs/protocol.md,
//     scenario H44). The same commands give byte-identical snapshots.
//   - An error of Apply is a decision, the same on every FE: always a
//     *doriserr.Error, and the State is unchanged but for its index.
//   - A command with a request id that was applied before is answered with the
//     first answer and changes nothing (rule 5).
//   - Objects in a State are immutable. A lookup may be kept without a lock.
//
// A State is not safe for concurrent use; package raftfsm holds the lock.
package meta
