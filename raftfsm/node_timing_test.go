package raftfsm

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	"dorisgo/meta"
)

// BenchmarkPropose is one command through log and fsync of a single node.
func BenchmarkPropose(b *testing.B) {
	ln, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	n, err := Open(Config{
		Dir: b.TempDir(), Stream: NewStream(ln, ln.Addr().String(), nil), Bootstrap: true, Logger: slog.New(slog.DiscardHandler),
		Fatal: func(err error) { b.Errorf("fatal: %v", err) },
	})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := n.Close(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	<-n.LeaderTerms()
	for _, callers := range []int{1, 32} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			b.SetParallelism(callers)
			var i atomic.Int64
			run := func() {
				if _, err := n.Propose(b.Context(), &meta.SetGlobalVar{Name: "v", Value: strconv.FormatInt(i.Add(1), 10)}); err != nil {
					b.Error(err)
				}
			}
			if callers == 1 {
				for b.Loop() {
					run()
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					run()
				}
			})
		})
	}
}
