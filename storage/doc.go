// Package storage keeps the tablets of one BE.
//
// A BE has storage roots; each is a directory with an identity, a lock, one
// Pebble and Parquet files, and a tablet lives in one root. The byte formats are
// docs/format/storage.md and docs/format/rowset.md.
//
// The life of a rowset, what one transaction wrote into one tablet:
//
//	WritePending   durable under its transaction: inline in Pebble, or a file
//	Publish        live at the version that the commit gave; durable a little
//	               later, see DurableVersion; Abort removes it instead
//	Clone          what a replica missed comes from another BE, under new ids
//	Flush          many inline ones become one Parquet file that covers a…b
//	Scrub          data are compared with their checksums
//	Checksum       rows are summed up, to be compared with other replicas'
//	Sweep          what was replaced goes, once nobody can read it
//
// Invariants, with the rules of docs/protocol.md behind them and the test that
// fails without each:
//
//   - What WritePending returned is there after a crash; what was published is
//     there as published or as pending, never half, and DurableVersion never
//     says more than what survives (rules 1, 2; TestCrash).
//   - Nothing pending is removed but by Abort, by a publish that decided against
//     it, by a later owner, or by a drop (rules 2, 4; TestOwnerEpochs).
//   - A partition's versions are published without holes, each with an entry
//     that says which tablets got which rowsets; the same version with other
//     rowsets is a conflict (rules 1, 12; TestPublish).
//   - Each tablet stands for itself: one that lacks a version has a hole there,
//     publishes nothing above it and serves no read at or above it, and all
//     others go on (rules 1, 2; TestHoles, TestModel).
//   - A clone switches in by one batch what was verified, or nothing (rules 2, 13;
//     TestCloneRefuses, TestCloneCrash).
//   - A tablet whose replica was removed is not taken for one that never had rows
//     (rule 12; TestRemoveReplica).
//   - A rowset whose data are not what its record says is read by nobody once
//     that was seen (TestDamage).
//   - A snapshot reads the same rows as long as it is open (rule 13; TestModel).
//   - A file is durable before a record names it, is removed only after a
//     durable decision, and an unknown one goes to the trash (rule 12;
//     TestTrace, TestUnknownFiles).
//   - A root whose Pebble is new or foreign is not opened (rule 12;
//     TestOpenRefuses).
//   - After a failed fsync nothing is tried again: a root whose Pebble met one
//     is out of service (rule 7; TestFaults).
//   - A root that goes out of service is left while there is another; of what
//     several roots claim the newest counts (rule 6; TestLoseRoot).
//   - Pebble never meets a full disk (H41; TestDiskFull).
//
// Start with Engine, then pending.go, replica.go, publish.go, fill.go,
// snapshot.go, flush.go, compact.go, clonesource.go and clonetarget.go.
package storage
