// Package wal is the write-ahead log of group commit: one file for each async
// group, written by one goroutine, made durable by one fsync for all loads that
// wait at the moment.
//
// A file belongs to one transaction. It starts with a header that says all that
// a replay needs (docs/format/wal.md); frames follow. A frame holds the records
// of every load that arrived during the fsync of the frame before, so the
// slower the disk, the larger the frames, and the number of fsyncs does not
// follow the number of loads.
//
// Where to start: Manager.Create gives a Writer, Writer.Enqueue and Pending.Wait
// are the write path, OpenReader is the way back.
//
// # Invariants
//
//   - A load is acknowledged only after its frame, the file's header and the
//     file's directory entry are on disk (TestAppendIsDurable).
//   - Frame n+1 is written only after frame n's fsync returned, so a bad frame
//     is the torn tail only if no sound frame follows; otherwise it is damage
//     (TestCutAtEveryByte, TestFlipEveryBit; docs/protocol.md, rule 8).
//   - After a failed write or fsync nothing is ever appended to the file
//     (TestDeadAfterError; docs/protocol.md, rule 7).
//   - A record lies in one frame, so a load is there whole or not at all.
//   - Nothing is deleted because it is not understood: Quarantine moves it
//     aside (TestQuarantine).
package wal
