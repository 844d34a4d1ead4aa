package be

import (
	"context"

	"dorisgo/doriserr"
	"dorisgo/groupcommit"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/peer"
)

// Load runs one load for an FE in the same process, on the caller's goroutine:
// what a load stream does between processes, without its frames. ctx carries the
// load's deadline.
func (n *Node) Load(ctx context.Context, item *bepb.LoadItem) (*bepb.LoadReply, error) {
	if !n.enter() {
		return nil, doriserr.New(doriserr.NotAdmitted, "be is stopping")
	}
	defer n.inflight.leave()
	return n.loads.load(ctx, item)
}

// Start is Load without its wait, for an async load that can have its place in a
// group at once; without ok nothing of it is anywhere. wake is called when the
// answer may be ready; it may be called by the goroutine that writes the WAL and must
// return soon.
func (n *Node) Start(item *bepb.LoadItem, wake func()) (peer.Started, bool) {
	if !n.enter() {
		return nil, false
	}
	j, ok := n.loads.tryJoin(item)
	if !ok {
		n.inflight.leave()
		return nil, false
	}
	s := &startedLoad{node: n, Joined: j}
	s.Then(wake)
	return s, true
}

// enter counts a load unless the node stops. It is counted first: what finds the
// node running is waited for by Stop.
func (n *Node) enter() bool {
	n.inflight.enter()
	select {
	case <-n.stopping:
		n.inflight.leave()
		return false
	default:
		return true
	}
}

// startedLoad is a load of an FE in this process that has its place.
type startedLoad struct {
	node *Node
	groupcommit.Joined
}

// Local implements peer.Started: the WAL's goroutine writes the frame.
func (s *startedLoad) Local() bool { return true }

// Reply implements peer.Started.
func (s *startedLoad) Reply(ctx context.Context) (*bepb.LoadReply, error) {
	defer s.node.inflight.leave()
	ack, err := s.Wait(ctx)
	if err != nil {
		return nil, err
	}
	return groupReply(&ack), nil
}
