package raftfsm

import (
	"context"

	"github.com/hashicorp/raft"

	"dorisgo/doriserr"
)

// Member is a server of the raft group.
type Member struct {
	ID, Addr string
	Voter    bool
}

// Members are the servers of the group, as this node knows them.
func (n *Node) Members(ctx context.Context) ([]Member, error) {
	future := n.raft.GetConfiguration()
	if err := wait(ctx, future); err != nil {
		return nil, n.raftError(err, "the look at the members")
	}
	servers := future.Configuration().Servers
	out := make([]Member, len(servers))
	for i, s := range servers {
		out[i] = Member{ID: string(s.ID), Addr: string(s.Address), Voter: s.Suffrage == raft.Voter}
	}
	return out, nil
}

// AddNonvoter adds a server that receives the log and does not vote, or gives
// a known one a new address. A server joins so first (docs/protocol.md,
// scenario H14). Errors are those of Propose.
func (n *Node) AddNonvoter(ctx context.Context, id, addr string) error {
	return n.change(ctx, "add_nonvoter", n.raft.AddNonvoter(raft.ServerID(id), raft.ServerAddress(addr), 0, n.enqueueBound(ctx)))
}

// AddVoter adds a voting server, or makes a non-voter one.
func (n *Node) AddVoter(ctx context.Context, id, addr string) error {
	return n.change(ctx, "add_voter", n.raft.AddVoter(raft.ServerID(id), raft.ServerAddress(addr), 0, n.enqueueBound(ctx)))
}

// Remove removes a server. Remove an old id before a new one with the same
// address is added.
func (n *Node) Remove(ctx context.Context, id string) error {
	return n.change(ctx, "remove_server", n.raft.RemoveServer(raft.ServerID(id), 0, n.enqueueBound(ctx)))
}

// TransferLeadership hands the lead to another voter.
func (n *Node) TransferLeadership(ctx context.Context) error {
	return n.change(ctx, "transfer_leadership", n.raft.LeadershipTransfer())
}

func (n *Node) change(ctx context.Context, what string, f raft.Future) error {
	if err := wait(ctx, f); err != nil {
		return n.raftError(err, what)
	}
	return nil
}

// Snapshot writes a snapshot now and shortens the log.
func (n *Node) Snapshot(ctx context.Context) error {
	if err := wait(ctx, n.raft.Snapshot()); err != nil {
		return doriserr.Wrap(doriserr.Internal, err, "cannot take a snapshot")
	}
	return nil
}

// Stats are raft's own figures, for /metrics and SHOW PROC.
func (n *Node) Stats() map[string]string { return n.raft.Stats() }
