package raftfsm

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"dorisgo/meta"
)

// quiet drops what raft logs; a failing test prints its own facts.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// openDisk opens a node on a directory and a loopback port.
func openDisk(t *testing.T, dir string, change func(*Config)) (*Node, error) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Dir: dir, Stream: NewStream(ln, ln.Addr().String(), nil), Bootstrap: true, Logger: quiet(),
		Fatal: func(err error) { t.Errorf("fatal: %v", err) },
	}
	if change != nil {
		change(&cfg)
	}
	return Open(cfg)
}

func mustOpen(t *testing.T, dir string, change func(*Config)) *Node {
	t.Helper()
	n, err := openDisk(t, dir, change)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func mustClose(t *testing.T, n *Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
	defer cancel()
	if err := n.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

// leads waits for a node's term.
func leads(t *testing.T, n *Node) LeaderTerm {
	t.Helper()
	select {
	case term := <-n.LeaderTerms():
		return term
	case <-time.After(20 * time.Second):
		t.Fatal("no leader term")
		return LeaderTerm{}
	}
}

func propose(t *testing.T, n *Node, c meta.Command) meta.Result {
	t.Helper()
	res, err := n.Propose(t.Context(), c)
	if err != nil {
		t.Fatalf("%s: %v", meta.CommandName(c), err)
	}
	return res
}

// snapshotOf is the State's snapshot bytes.
func snapshotOf(t *testing.T, n *Node) string {
	t.Helper()
	var b strings.Builder
	n.View(func(s *meta.State) {
		if err := s.Snapshot().Write(&b); err != nil {
			t.Fatal(err)
		}
	})
	return b.String()
}

// group is a few nodes in memory.
type group struct {
	nodes      []*Node
	transports []*raft.InmemTransport
	stopped    []bool
}

// newGroup opens nodes in memory; the first bootstraps, the others join.
func newGroup(t *testing.T, size int) *group {
	t.Helper()
	g := &group{stopped: make([]bool, size)}
	for range size {
		_, trans := raft.NewInmemTransportWithTimeout("", 500*time.Millisecond)
		g.transports = append(g.transports, trans)
	}
	for i := range size {
		for j := range size {
			if i != j {
				g.transports[i].Connect(g.transports[j].LocalAddr(), g.transports[j])
			}
		}
	}
	for i := range size {
		n, err := Open(Config{
			InMemory: true, ServerID: fmt.Sprintf("fe-%d", i), Transport: g.transports[i], Bootstrap: i == 0,
			ClusterID: "test-cluster", Logger: quiet(), Fatal: func(err error) { t.Errorf("node %d: fatal: %v", i, err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		g.nodes = append(g.nodes, n)
	}
	leads(t, g.nodes[0])
	for i := 1; i < size; i++ {
		if err := g.nodes[0].AddNonvoter(t.Context(), g.nodes[i].ID(), string(g.transports[i].LocalAddr())); err != nil {
			t.Fatal(err)
		}
		if err := g.nodes[0].AddVoter(t.Context(), g.nodes[i].ID(), string(g.transports[i].LocalAddr())); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// cut disconnects a node from all others.
func (g *group) cut(i int) {
	g.transports[i].DisconnectAll()
	for j := range g.transports {
		if j != i {
			g.transports[j].Disconnect(g.transports[i].LocalAddr())
		}
	}
}

// heal connects a node again.
func (g *group) heal(i int) {
	for j := range g.transports {
		if j != i {
			g.transports[i].Connect(g.transports[j].LocalAddr(), g.transports[j])
			g.transports[j].Connect(g.transports[i].LocalAddr(), g.transports[i])
		}
	}
}

func (g *group) close(t *testing.T) {
	t.Helper()
	for i, n := range g.nodes {
		if !g.stopped[i] {
			mustClose(t, n)
		}
	}
}
