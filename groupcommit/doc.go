// Package groupcommit turns many small loads into few transactions: the loads
// of one table, schema version and mode that arrive within an interval become
// one group, one transaction, one version.
//
//	Add -> open group: rows to the block, record to the WAL -> ack (async)
//	seal (bytes, interval, memory, schema, stop) -> Write -> Commit -> ack (sync)
//	-> WAL unlinked -> group record released
//
// Where to start: Manager.Add (add.go) is a load's way, group.run (group.go) a
// group's life, Manager.Recover (recover.go) what a start does with the WALs it
// finds, replay.go what is tried again until it is committed. The package sees
// only a Sink, the WAL and blocks. Every table has one mutex, table.mu: it is the queue
// lock of docs/protocol.md, under which a load gets its place in the block and
// in the WAL together.
//
// # Invariants
//
// Each names the test that fails without it.
//
//  1. No acknowledged row is lost. An async load is answered after the fsync of
//     its record, a sync one after VISIBLE, and a group with acknowledged rows is
//     committed sooner or later, never aborted: TestCrashAtEveryFileOperation,
//     TestFailedCommitIsReplayed, TestWALErrorCommitsFromMemory.
//  2. No request's rows come twice. A request id that is known is answered from
//     its first load; Begin, Commit and TakeOver are asked again with the same
//     id until they are decided; a replay commits the group's own transaction:
//     TestRepeatedRequest, TestUnknownOutcomesAreAskedAgain,
//     TestCrashAtEveryFileOperation.
//  3. A load joins whole or not at all, and one load's bytes cannot harm
//     another's: TestBadBlockHarmsNobody.
//  4. Sync and async loads never share a group: TestModesAndSchemasDoNotMix.
//  5. A failed commit is told to every sync waiter; "failed" is said only if it
//     is decided: TestSyncFailureIsTold, TestUnknownOutcomesAreAskedAgain.
//  6. After a WAL error the group is sealed and committed from memory; its
//     unconfirmed loads wait for VISIBLE and never hear "failed":
//     TestWALErrorCommitsFromMemory.
//  7. A failed begin leaves nothing behind: TestFailedBeginLeavesNothing.
//  8. A group seals at its interval and size, and at once when the memory budget
//     is used up: TestIntervalAndSize, TestMemoryBudgetSealsAtOnce.
//  9. A WAL is unlinked only after COMMITTED, and its group is released only
//     after the unlink is durable: TestTraceOfAGroup. An unknown, damaged or
//     aborted one is set aside, never deleted: TestRecoverStates.
//  10. WALs that cannot be replayed block async loads of their own table only,
//     and drain by themselves: TestWALLimit.
//  11. Groups of an ordered table commit in opening order, replays too:
//     TestOrderedTableCommitsInOrder, TestRandomFaults.
//  12. Every wait ends with its context, and Stop leaves nothing running:
//     TestStop, and goleak in TestMain.
package groupcommit
