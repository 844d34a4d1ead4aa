package wal

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BenchmarkAppend: one-row loads from many goroutines into one file on the real
// disk; fsyncs/op is how many of them a load costs.
func BenchmarkAppend(b *testing.B) {
	for _, waiters := range []int{1, 32, 500} {
		b.Run(fmt.Sprintf("waiters=%d", waiters), func(b *testing.B) {
			m := openTest(b, vfs.Default, b.TempDir())
			w, err := m.Create(b.Context(), testHeader(1), nil)
			if err != nil {
				b.Fatal(err)
			}
			row := make([]byte, 20)
			b.ReportAllocs()
			b.ResetTimer()
			done := make(chan error, waiters)
			for g := range waiters {
				go func() {
					var err error
					id := reqID(g)
					for i := g; i < b.N && err == nil; i += waiters {
						err = w.Append(b.Context(), id, 1, row)
					}
					done <- err
				}()
			}
			for range waiters {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			frames, records := w.Counts()
			b.ReportMetric(float64(frames)/float64(records), "fsyncs/op")
			b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "loads/s")
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
