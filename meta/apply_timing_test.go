package meta

import (
	"bytes"
	"fmt"
	"testing"

	"dorisgo/meta/txn"
)

// benchState has many tables, transactions and labels, none of which a command
// should have to look at.
func benchState(b *testing.B) (*State, *Table, txn.Owner) {
	b.Helper()
	s := New()
	index := uint64(0)
	do := func(c Command) Result {
		index++
		res, err := s.Apply(index, c)
		if err != nil {
			b.Fatal(err)
		}
		return res
	}
	be := do(&RegisterBackend{UUID: "u", Host: "h"}).ID
	db := do(&CreateDatabase{Name: "d"}).ID
	for i := range 1000 {
		t := sampleTable(fmt.Sprintf("t%d", i), be)
		t.Keys = DuplicateKeys
		do(&CreateTable{DB: "d", Table: t})
	}
	owner := txn.Owner{BackendID: be, BootEpoch: 1, OwnerEpoch: 1}
	table := s.TableByName(db, "t7")
	for i := range 5000 {
		do(&BeginTxn{RequestID: [16]byte{1, byte(i), byte(i >> 8)}, DBID: db, TableID: table.ID, TableEpoch: 1, SchemaVersion: 3, Label: fmt.Sprintf("l%d", i), Owner: owner, TimeoutMs: 1 << 30})
	}
	return s, table, owner
}

// BenchmarkGroup is the life of one group: begin, commit, publish, release.
func BenchmarkGroup(b *testing.B) {
	s, table, owner := benchState(b)
	p := table.Partitions[0]
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		res, err := s.Apply(uint64(i)+10000, &BeginTxn{
			RequestID: [16]byte{2, byte(i), byte(i >> 8), byte(i >> 16)}, DBID: table.DBID, TableID: table.ID, TableEpoch: 1, SchemaVersion: 3,
			Label: fmt.Sprintf("group_commit_%d", i), Owner: owner, Group: &txn.GroupRecord{Async: true}, TimeoutMs: 1000,
		})
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range []Command{
			&CommitTxn{TxnID: res.ID, Owner: owner, LoadedRows: 1, Partitions: []txn.PartitionCommit{{PartitionID: p.ID, Tablets: []txn.TabletCommit{
				{TabletID: p.Tablets[0].ID, Rows: 1, Backends: []int64{owner.BackendID}},
				{TabletID: p.Tablets[1].ID, Rows: 1, Backends: []int64{owner.BackendID}},
			}}}},
			&PublishDone{TxnID: res.ID, BackendIDs: []int64{owner.BackendID}},
			&ReleaseGroups{BackendID: owner.BackendID, BootEpoch: 1, TxnIDs: []int64{res.ID}},
			&ReportDurable{BackendID: owner.BackendID, BootEpoch: 1, Versions: []DurableVersion{{p.ID, int64(i) + 2}}},
		} {
			if _, err := s.Apply(uint64(i)+10000, c); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkTickWith5000Running(b *testing.B) {
	s, _, _ := benchState(b)
	for b.Loop() {
		if _, err := s.Apply(1, &Tick{DeltaMs: 1, Term: 1}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshotTake(b *testing.B) {
	s, _, _ := benchState(b)
	for b.Loop() {
		s.Snapshot()
	}
}

func BenchmarkSnapshotWrite(b *testing.B) {
	s, _, _ := benchState(b)
	var buf bytes.Buffer
	for b.Loop() {
		buf.Reset()
		if err := s.Snapshot().Write(&buf); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(buf.Len()))
}

func BenchmarkCommandCodec(b *testing.B) {
	c := samples()[17]
	b.ReportAllocs()
	for b.Loop() {
		data, err := EncodeCommand(c)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := DecodeCommand(data); err != nil {
			b.Fatal(err)
		}
	}
}
