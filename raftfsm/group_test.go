package raftfsm

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
)

func TestThreeNodesAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 3)
		defer g.close(t)
		var last uint64
		for i := range 50 {
			last = propose(t, g.nodes[0], &meta.CreateDatabase{Name: fmt.Sprintf("d%d", i)}).Index
		}
		want := ""
		for i, n := range g.nodes {
			if err := n.WaitApplied(t.Context(), last); err != nil {
				t.Fatal(err)
			}
			got := snapshotOf(t, n)
			if i == 0 {
				want = got
			} else if got != want {
				t.Errorf("node %d has another state at index %d", i, last)
			}
		}
		if _, err := g.nodes[1].Propose(t.Context(), &meta.CreateDatabase{Name: "x"}); !doriserr.Is(err, doriserr.NotLeader) {
			t.Errorf("a follower answers %v, want not leader", err)
		}
		members, err := g.nodes[2].Members(t.Context())
		if err != nil || len(members) != 3 {
			t.Errorf("members %v, %v", members, err)
		}
	})
}

func TestALeaderThatIsCutOffDoesNotKnowTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 3)
		defer g.close(t)
		old := g.nodes[0]
		propose(t, old, &meta.CreateDatabase{Name: "before"})
		g.cut(0)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if _, err := old.Propose(ctx, &meta.CreateDatabase{Name: "lost"}); !doriserr.Is(err, doriserr.Unknown) {
			t.Fatalf("the cut-off leader answers %v, want unknown", err)
		}
		leader := g.nodes[1]
		select {
		case <-g.nodes[1].LeaderTerms():
		case <-g.nodes[2].LeaderTerms():
			leader = g.nodes[2]
		}
		res := propose(t, leader, &meta.CreateDatabase{Name: "after"})
		if _, ok := old.Ready(); ok {
			t.Error("the old leader still says that it may serve reads")
		}
		if _, err := old.Propose(t.Context(), &meta.CreateDatabase{Name: "x"}); !doriserr.Is(err, doriserr.NotLeader) {
			t.Errorf("the deposed leader answers %v, want not leader", err)
		}
		g.heal(0)
		if err := old.WaitApplied(t.Context(), res.Index); err != nil {
			t.Fatal(err)
		}
		old.View(func(s *meta.State) {
			if s.DatabaseByName("lost") != nil || s.DatabaseByName("after") == nil || s.DatabaseByName("before") == nil {
				t.Error("the old leader did not take the new leader's log")
			}
		})
	})
}

func TestDutiesEndWithTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 3)
		defer g.close(t)
		if _, ok := g.nodes[0].Ready(); !ok {
			t.Error("the leader is not ready after its barrier")
		}
		if err := g.nodes[0].TransferLeadership(t.Context()); err != nil {
			t.Fatal(err)
		}
		var term LeaderTerm
		select {
		case term = <-g.nodes[1].LeaderTerms():
		case term = <-g.nodes[2].LeaderTerms():
		}
		if err := term.Ctx.Err(); err != nil {
			t.Errorf("a new term has ended already: %v", err)
		}
		next := g.nodes[1]
		if !next.IsLeader() {
			next = g.nodes[2]
		}
		if err := next.TransferLeadership(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-term.Ctx.Done():
		case <-time.After(10 * time.Second):
			t.Error("duties go on although the lead is gone")
		}
		// A barrier that is under way when everything closes never ends.
		for range 100 {
			for _, n := range g.nodes {
				if _, ok := n.Ready(); ok {
					return
				}
			}
			time.Sleep(100 * time.Millisecond) // virtual
		}
		t.Error("nobody leads in the end")
	})
}

func TestAFollowerFarBehindGetsASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 3)
		defer g.close(t)
		leader := g.nodes[0]
		rc := leader.raft.ReloadableConfig()
		rc.TrailingLogs = 1
		if err := leader.raft.ReloadConfig(rc); err != nil {
			t.Fatal(err)
		}
		g.cut(2)
		var last uint64
		for i := range 600 {
			last = propose(t, leader, &meta.SetGlobalVar{Name: fmt.Sprintf("v%d", i%7), Value: fmt.Sprint(i)}).Index
		}
		if err := leader.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.heal(2)
		if err := g.nodes[2].WaitApplied(t.Context(), last); err != nil {
			t.Fatal(err)
		}
		if a, b := snapshotOf(t, g.nodes[0]), snapshotOf(t, g.nodes[2]); a != b {
			t.Error("the follower has another state after its snapshot")
		}
	})
}

func TestEightCallersGetOneOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 3)
		defer g.close(t)
		done := make(chan meta.Result)
		for i := range 8 {
			go func() {
				res, err := g.nodes[0].Propose(t.Context(), &meta.CreateDatabase{RequestID: [16]byte{1}, Name: "one"})
				if err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
				done <- res
			}()
		}
		first := <-done
		for range 7 {
			if res := <-done; res != first {
				t.Errorf("a repeat got %+v, the first answer was %+v", res, first)
			}
		}
	})
}
