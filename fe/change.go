package fe

import (
	"context"
	"fmt"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/raftfsm"
	"dorisgo/rpc/fepb"
	"dorisgo/rpc/peer"
)

// changer has commands decided, here or by the leader, and waits until this FE
// shows them. Commands are idempotent, so that an unknown outcome is asked for
// again until the caller's context ends (docs/protocol.md, rule 5).
type changer struct {
	node   *raftfsm.Node
	leader *peer.Leader
	server *leaderHint
}

// leaderHint tells the leader's gRPC address, empty while it is unknown.
type leaderHint struct{ node *raftfsm.Node }

func (h *leaderHint) addr() (addr string) {
	id, _, ok := h.node.Leader()
	if !ok {
		return ""
	}
	h.node.View(func(st *meta.State) {
		if f := st.Frontend(id); f != nil {
			addr = f.RPCAddr
		}
	})
	return addr
}

// Change implements exec.Changer.
func (c *changer) Change(ctx context.Context, cmd meta.Command) (meta.Result, error) {
	wait := 10 * time.Millisecond
	for {
		res, err := c.once(ctx, cmd)
		if err == nil {
			return res, c.node.WaitApplied(ctx, res.Index)
		}
		if !doriserr.Is(err, doriserr.Unknown) && !doriserr.Is(err, doriserr.NotLeader) {
			return res, err
		}
		select {
		case <-ctx.Done():
			return res, fmt.Errorf("the frontends could not decide in time: %w", err)
		case <-time.After(wait):
		}
		wait = min(2*wait, 500*time.Millisecond)
	}
}

func (c *changer) once(ctx context.Context, cmd meta.Command) (meta.Result, error) {
	res, err := c.node.Propose(ctx, cmd)
	if !doriserr.Is(err, doriserr.NotLeader) {
		return res, err
	}
	addr := c.server.addr()
	if addr == "" || c.node.IsLeader() {
		return res, err
	}
	c.leader.Learn(addr)
	b, err := meta.EncodeCommand(cmd)
	if err != nil {
		return meta.Result{}, err
	}
	err = c.leader.Call(ctx, func(ctx context.Context, fe fepb.FrontendClient) error {
		r, err := fe.Change(ctx, &fepb.ChangeRequest{Command: b})
		if err == nil {
			res = meta.Result{Index: r.Index, ID: r.Id, Count: int(r.Count), Existed: r.Existed, Epoch: r.Epoch}
		}
		return err
	})
	return res, err
}
