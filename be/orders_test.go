package be

import (
	"testing"

	berpc "dorisgo/be/rpc"
	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/peer"
)

// TestOrdersOfADeposedLeader: their refusal keeps its kind on the way back.
func TestOrdersOfADeposedLeader(t *testing.T) {
	pipes := &peer.Pipes{}
	l := pipes.Listen("be:9060")
	srv := peer.NewServer("")
	new(berpc.Server).Register(srv)
	go srv.Serve(l)
	defer srv.Stop()
	pool := peer.NewPool("", pipes)
	defer pool.Close()
	for _, c := range []struct {
		metaEpoch, term uint64
		stale           bool
	}{{1, 2, false}, {1, 2, false}, {1, 1, true}, {2, 1, false}, {1, 9, true}} {
		var reply bepb.PublishReply
		err := pool.Calls("be:9060", peer.PublishService).Call(t.Context(), &bepb.PublishRequest{MetaEpoch: c.metaEpoch, Term: c.term}, &reply)
		if c.stale != doriserr.Is(err, doriserr.StaleEpoch) || !c.stale && err != nil {
			t.Errorf("meta epoch %d, term %d: %v", c.metaEpoch, c.term, err)
		}
	}
}
