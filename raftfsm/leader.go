package raftfsm

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"dorisgo/meta"
)

// LeaderTerm is a term in which this node leads. It is handed out after a
// Barrier in that term: the State shows every entry of earlier terms.
type LeaderTerm struct {
	Term uint64
	// Ctx ends with the term. A duty that is under way then stops.
	Ctx context.Context
}

// LeaderTerms gives each term in which this node leads, when its duties may
// start. Receive from it all the time; a term that ended before it was
// received is left out.
func (n *Node) LeaderTerms() <-chan LeaderTerm { return n.terms }

// Leader is the present leader's server id and raft address, as far as this
// node knows.
func (n *Node) Leader() (id, addr string, ok bool) {
	a, i := n.raft.LeaderWithID()
	return string(i), string(a), i != ""
}

// IsLeader reports whether raft says that this node leads. It may do so before
// the State is up to date; see Ready.
func (n *Node) IsLeader() bool { return n.raft.State() == raft.Leader }

// Ready reports whether this node leads, holds its lease and has passed the
// barrier of its term, and gives the index of its newest command: a read of
// its State then sees every write that was acknowledged (docs/protocol.md,
// rule 15).
func (n *Node) Ready() (index uint64, ok bool) {
	term := n.ready.Load()
	if term == 0 || !n.IsLeader() || n.raft.CurrentTerm() != term {
		return 0, false
	}
	return n.AppliedIndex(), true
}

// lead follows raft's leadership and runs one goroutine for each term. The
// channel holds the newest notice only, so that true may follow true.
func (n *Node) lead() {
	end := func() {}
	defer func() { end() }()
	for {
		select {
		case <-n.done:
			return
		case leading := <-n.raft.LeaderCh():
			end()
			n.ready.Store(0)
			end = func() {}
			if leading {
				ctx, cancel := context.WithCancel(context.Background())
				ended := make(chan struct{})
				end = func() { cancel(); <-ended }
				n.spawn(func() { defer close(ended); n.beginTerm(ctx) })
			}
		}
	}
}

// retryPause is the pause between tries of a barrier that failed although the
// term goes on.
const retryPause = 50 * time.Millisecond

// beginTerm waits until the State has all of earlier terms, then hands the
// term out. It returns when that is done or the term ended.
func (n *Node) beginTerm(ctx context.Context) {
	for {
		err := n.barrier(ctx)
		if err == nil {
			if err = n.initCluster(ctx); err == nil {
				break
			}
		}
		if ctx.Err() != nil || errors.Is(err, raft.ErrRaftShutdown) {
			return
		}
		n.cfg.Logger.Warn("leader duties wait", "err", err)
		select {
		case <-ctx.Done():
			return
		case <-n.done:
			return
		case <-time.After(retryPause):
		}
	}
	term := n.raft.CurrentTerm()
	n.ready.Store(term)
	select {
	case n.terms <- LeaderTerm{Term: term, Ctx: ctx}:
	case <-ctx.Done():
	case <-n.done:
	}
}

// barrier waits until every entry before it is applied.
func (n *Node) barrier(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.ProposeBound)
	defer cancel()
	return wait(ctx, n.raft.Barrier(n.enqueueBound(ctx)))
}

// VerifyLeader asks a majority whether this node still leads, for reads that
// must not come from a leader that is cut off.
func (n *Node) VerifyLeader(ctx context.Context) error {
	if err := wait(ctx, n.raft.VerifyLeader()); err != nil {
		return n.notLeader()
	}
	return nil
}

// Term is raft's current term.
func (n *Node) Term() uint64 { return n.raft.CurrentTerm() }

// MetaEpoch and term and index together order what this node tells BEs.
func (n *Node) MetaEpoch() (epoch uint64) {
	n.View(func(s *meta.State) { epoch = s.MetaEpoch() })
	return epoch
}
