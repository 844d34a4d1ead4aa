package storage_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/storage"
	"dorisgo/storage/storagetest"
)

// timed opens an engine on a real disk with the defaults.
func timed(b *testing.B) *storage.Engine {
	return opened(b, storage.Options{
		Roots: []storage.Root{{Path: b.TempDir() + "/root"}}, Codec: storagetest.Codec{FS: vfs.Default}, MinFreeBytes: -1,
	})
}

// BenchmarkWritePublish is one transaction of one row in each of n tablets.
func BenchmarkWritePublish(b *testing.B) {
	for _, tablets := range []int64{1, 32} {
		b.Run(fmt.Sprintf("tablets=%d", tablets), func(b *testing.B) {
			e := timed(b)
			rowsets := make([]storage.PendingRowset, tablets)
			txn := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				txn++
				for i := range rowsets {
					rowsets[i] = rows(txn*100+int64(i), txn, 1000+int64(i), txn)
				}
				write(b, e, txn, rowsets...)
				publish(b, e, order(txn+1, txn, rowsets...))
			}
		})
	}
}

// BenchmarkPublish is the publish alone.
func BenchmarkPublish(b *testing.B) {
	e := timed(b)
	txn := int64(0)
	for b.Loop() {
		txn++
		publish(b, e, order(txn+1, txn))
	}
}

// BenchmarkParallel has 16 writers on partitions of their own: they share
// fsyncs.
func BenchmarkParallel(b *testing.B) {
	e := timed(b)
	var next atomic.Int64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		p := next.Add(1)
		for n := int64(1); pb.Next(); n++ {
			txn := p<<32 | n
			rs := rows(txn, txn, 1000+p, n)
			rs.PartitionID = p
			pub := order(n+1, txn, rs)
			pub.PartitionID = p
			write(b, e, txn, rs)
			publish(b, e, pub)
		}
	})
}

// BenchmarkSnapshot reads a tablet of 256 inline rowsets of one row.
func BenchmarkSnapshot(b *testing.B) {
	e := timed(b)
	for txn := int64(1); txn <= 256; txn++ {
		load(b, e, txn+1, txn, rows(txn, txn, 11, txn))
	}
	b.ReportAllocs()
	for b.Loop() {
		s, err := e.Snapshot(b.Context(), part, 11, 257)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for in, err := range s.Inline(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			n += len(in.Data)
		}
		if err := s.Close(); err != nil || n == 0 {
			b.Fatal(err)
		}
	}
}
