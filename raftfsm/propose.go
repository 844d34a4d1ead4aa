package raftfsm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"dorisgo/doriserr"
	"dorisgo/meta"
)

// Propose has a command decided by the group. Its wall clock is filled in. The
// answer is one of three (docs/protocol.md, rule 5):
//
//   - the FSM's decision: a Result, or an Error with the Result beside it;
//   - NotLeader: surely not in the log, ask the leader (Leader);
//   - Unknown: it may be decided yet. Ask again with the same request id.
//
// The Result's index is what a reader on another FE waits for.
func (n *Node) Propose(ctx context.Context, c meta.Command) (meta.Result, error) {
	if err := ctx.Err(); err != nil {
		return meta.Result{}, doriserr.Wrap(doriserr.KindOf(err), err, "%s was not proposed", meta.CommandName(c))
	}
	if n.raft.State() != raft.Leader {
		return meta.Result{}, n.notLeader()
	}
	meta.Stamp(c, time.Now().UnixMilli())
	data, err := meta.EncodeCommand(c)
	if err != nil {
		return meta.Result{}, doriserr.Wrap(doriserr.Internal, err, "cannot propose")
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, n.cfg.ProposeBound)
		defer cancel()
	}
	future := n.raft.Apply(data, n.enqueueBound(ctx))
	if err := wait(ctx, future); err != nil {
		return meta.Result{}, n.raftError(err, meta.CommandName(c))
	}
	a, ok := future.Response().(*answer)
	if !ok {
		return meta.Result{}, doriserr.New(doriserr.Unknown, "the outcome of %s is not known: this frontend stopped applying", meta.CommandName(c))
	}
	return a.result, a.err
}

// enqueueBound is how long raft may take to accept a proposal: not longer than
// the context allows, and at least a moment, since 0 means for ever.
func (n *Node) enqueueBound(ctx context.Context) time.Duration {
	bound := n.cfg.EnqueueBound
	if d, ok := ctx.Deadline(); ok {
		bound = min(bound, time.Until(d))
	}
	return max(bound, time.Millisecond)
}

// raftError is a raft error as one of the three answers. Only three of them
// mean that the entry is surely not in the log; every other one, and the end
// of the context, leaves it open.
func (n *Node) raftError(err error, what string) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader),
		errors.Is(err, raft.ErrEnqueueTimeout),
		errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return n.notLeader()
	default:
		return doriserr.Wrap(doriserr.Unknown, err, "the outcome of %s is not known", what)
	}
}

func (n *Node) notLeader() error {
	_, addr, ok := n.Leader()
	if !ok {
		return doriserr.New(doriserr.NotLeader, "FE is not master, and no master is known")
	}
	return doriserr.New(doriserr.NotLeader, "FE is not master, the master is at %s", addr)
}

// initCluster gives a new cluster its identity.
func (n *Node) initCluster(ctx context.Context) error {
	var known bool
	n.View(func(s *meta.State) { known = s.ClusterID() != "" })
	if known {
		return nil
	}
	id := n.cfg.ClusterID
	if id == "" && n.identity != nil {
		id = n.identity.ClusterID
	}
	if id == "" {
		id = newUUID()
	}
	if _, err := n.Propose(ctx, &meta.InitCluster{ClusterID: id, MetaEpoch: 1}); err != nil {
		return fmt.Errorf("cannot give the cluster its id: %w", err)
	}
	return nil
}
