package tabletsched

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"dorisgo/meta"
	"dorisgo/rpc/bepb"
)

// lead runs a term and returns how it ends.
func lead(s *Scheduler, term uint64) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Lead(ctx, term)
	}()
	return func() {
		cancel()
		<-done
	}
}

// TestRepair: a hole is repaired by an order that names the term and all
// replicas, after failures with growing pauses; then nothing more is ordered.
func TestRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		be := c.backends()
		id := c.table("t", be, be).ID
		c.commit(id)
		c.commit(id, be[2])
		fails := 3
		c.refuse = func(_ *meta.Backend, r *bepb.CloneTabletRequest) error {
			if r.Replica.TabletId == c.st.Table(id).Partitions[0].Tablets[0].ID && fails > 0 {
				fails--
				return errors.New("connection refused")
			}
			return nil
		}
		s := New(Config{Node: c, Orders: c, Logger: slog.New(slog.DiscardHandler)})
		end := lead(s, 7)
		time.Sleep(3500 * time.Millisecond)
		if st := s.Stats(); st.Cloned != 1 || st.Failed != 1 || st.Unhealthy != 1 || st.Running != 0 {
			t.Errorf("after the first round: %+v", st)
		}
		time.Sleep(time.Minute)
		if st := s.Stats(); st != (Stats{Cloned: 2, Failed: 3, Bytes: 20}) {
			t.Errorf("at the end: %+v", st)
		}
		end()
		c.wantWhole(3)
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.clones) != 5 {
			t.Errorf("%d orders", len(c.clones))
		}
		if r := c.clones[0]; r.Term != 7 || r.MetaEpoch != 1 || r.Index == 0 || len(r.Base.Replicas) != 2 || r.Base.Base != 1 {
			t.Errorf("the first order: %v", r)
		}
	})
}

// TestTerm: with the term the clones under way end, and the next one begins anew.
func TestTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		be := c.backends()
		id := c.table("t", be).ID
		c.commit(id)
		c.commit(id, be[2])
		hang := hangingOrders{make(chan struct{}, 9)}
		s := New(Config{Node: c, Orders: hang, Logger: slog.New(slog.DiscardHandler)})
		end := lead(s, 1)
		<-hang.asked
		time.Sleep(10 * time.Second)
		if st := s.Stats(); st.Running != 1 || len(hang.asked) != 0 {
			t.Errorf("%+v", st)
		}
		end()
		if st := s.Stats(); st.Running != 0 {
			t.Errorf("after the term: %+v", st)
		}
		defer lead(s, 2)()
		<-hang.asked
	})
}

type hangingOrders struct{ asked chan struct{} }

func (h hangingOrders) CloneTablet(ctx context.Context, _ *meta.Backend, _ *bepb.CloneTabletRequest) (*bepb.CloneTabletReply, error) {
	h.asked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestChanges: replicas are added and dropped through the log.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 4)
		be := c.backends()
		id := c.table("t", be[:3]).ID
		c.commit(id)
		c.setAlive(be[0], false)
		s := New(Config{Node: c, Orders: c, Logger: slog.New(slog.DiscardHandler)})
		defer lead(s, 1)()
		time.Sleep(2 * time.Minute)
		if st := s.Stats(); st != (Stats{Cloned: 1, Added: 1, Dropped: 1, Bytes: 10}) {
			t.Errorf("%+v", st)
		}
		c.wantWhole(3)
	})
}
