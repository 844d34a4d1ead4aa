package router

import (
	"strings"
	"testing"
	"time"

	"dorisgo/doriserr"
)

func bes(n int) []Backend {
	out := make([]Backend, n)
	for i := range out {
		out[i] = Backend{ID: int64(10001 + i), Alive: true}
	}
	return out
}

var t0 = time.Unix(1_700_000_000, 0)

func choose(t *testing.T, g *Groups, table Table, size int64, b []Backend, at time.Time) int64 {
	t.Helper()
	id, err := g.Choose(table, size, b, at)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestLoadsOfATableStayTogether(t *testing.T) {
	table := Table{ID: 7, IntervalMs: 10000, DataBytes: 64 << 20}
	g, other := NewGroups(), NewGroups()
	first := choose(t, g, table, 100, bes(5), t0)
	for i := range 1000 {
		at := t0.Add(time.Duration(i) * 10 * time.Millisecond)
		if got := choose(t, g, table, 100, bes(5), at); got != first {
			t.Fatalf("load %d went to %d, the first to %d", i, got, first)
		}
	}
	if got := choose(t, other, table, 100, bes(5), t0); got != first {
		t.Errorf("another frontend chose %d, want %d", got, first)
	}
}

func TestTablesSpreadOverBackends(t *testing.T) {
	g, count := NewGroups(), map[int64]int{}
	for id := range int64(1000) {
		count[choose(t, g, Table{ID: id, DataBytes: 1}, 0, bes(4), t0)]++
	}
	for id, n := range count {
		if n < 150 || n > 350 {
			t.Errorf("backend %d has %d of 1000 tables", id, n)
		}
	}
}

func TestLossOfABackendMovesItsTablesAlone(t *testing.T) {
	g := NewGroups()
	all := bes(4)
	dead := bes(4)
	dead[2].Alive = false
	for id := range int64(200) {
		table := Table{ID: id, DataBytes: 1 << 20}
		before, after := choose(t, g, table, 0, all, t0), choose(t, g, table, 0, dead, t0)
		if before != all[2].ID && before != after {
			t.Errorf("table %d moved from %d to %d although its backend lives", id, before, after)
		}
		if after == all[2].ID {
			t.Errorf("table %d went to a dead backend", id)
		}
	}
}

func TestSaturatedTableSpreadsAndComesBack(t *testing.T) {
	for _, tc := range []struct {
		name  string
		oneBE bool
		want  int
	}{{"duplicate", false, 3}, {"order matters", true, 1}} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewGroups()
			table := Table{ID: 1, IntervalMs: 1000, DataBytes: 1 << 20, OneBE: tc.oneBE}
			seen := map[int64]bool{}
			for range 30 {
				seen[choose(t, g, table, 1<<20, bes(3), t0)] = true
			}
			if len(seen) != tc.want {
				t.Errorf("a saturated table used %d backends, want %d", len(seen), tc.want)
			}
			clear(seen)
			for i := range 10 {
				seen[choose(t, g, table, 10, bes(3), t0.Add(time.Minute+time.Duration(i)*time.Second))] = true
			}
			if len(seen) != 1 {
				t.Errorf("a calm table used %d backends", len(seen))
			}
		})
	}
}

func TestNobodyToChoose(t *testing.T) {
	g := NewGroups()
	dead := []Backend{{ID: 1}}
	_, err := g.Choose(Table{ID: 1}, 0, dead, t0)
	if !doriserr.Is(err, doriserr.NoBackend) || err.Error() != "No alive backend" {
		t.Errorf("got %v", err)
	}
	_, err = g.Choose(Table{ID: 1}, 0, []Backend{{ID: 1, Alive: true, Decommissioned: true}}, t0)
	if err == nil || !strings.Contains(err.Error(), "{ beId=1, alive=true, active=true, decommission=true }") {
		t.Errorf("got %v", err)
	}
	var rr RoundRobin
	if _, err := rr.Choose(dead); !doriserr.Is(err, doriserr.NoBackend) {
		t.Errorf("got %v", err)
	}
}

func TestRoundRobinTakesTurns(t *testing.T) {
	var rr RoundRobin
	b := bes(3)
	b[1].Decommissioned = true
	count := map[int64]int{}
	for range 10 {
		id, err := rr.Choose(b)
		if err != nil {
			t.Fatal(err)
		}
		count[id]++
	}
	if count[b[0].ID] != 5 || count[b[2].ID] != 5 {
		t.Errorf("turns: %v", count)
	}
}
