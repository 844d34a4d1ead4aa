// Package txn holds the rules of transactions: labels, states, group records,
// versions, majorities and clean-up. It is pure: no clock, no I/O, no
// goroutine, no randomness. The same calls in the same order give the same
// Book on every FE, because package meta calls it from the replicated log
// alone.
//
// Where to start: Txn (what is known of one transaction), Book (all of them),
// then one file for each decision: begin.go, commit.go, abort.go, takeover.go,
// publish.go, release.go, tick.go, labels.go.
//
// What holds after every call (each is checked by the model test of package meta,
// meta/model_test.go; the rules are those of docs/protocol.md):
//
//   - A decision is final and repeated to whoever asks again (rule 5).
//   - A label belongs to at most one transaction that is not ABORTED.
//   - A group with a WAL is never aborted by time-out, lost heartbeat or a
//     restart, and outlives labels until it is released (rules 3 and 4).
//   - A PRECOMMITTED transaction is decided by its client or by time-out, never
//     by the backend that wrote it.
//   - Commands of an older boot or owner epoch change nothing (rule 4).
//   - A partition's versions are given without a hole and become visible in
//     order; all partitions of a transaction in one call (rule 1).
//   - A replica counts for a majority only while it holds every committed
//     version of its tablet (rule 1).
//
// A Book is not safe for concurrent use. The Txn objects in it are immutable:
// a change puts a new object in the old one's place, so that a reader may keep
// a pointer without a lock.
package txn
