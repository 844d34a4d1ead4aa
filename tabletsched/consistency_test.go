package tabletsched

import (
	"slices"
	"testing"
	"time"

	"dorisgo/rpc/bepb"
)

// TestJudge: only a majority of all of a tablet's replicas condemns others.
func TestJudge(t *testing.T) {
	sum := func(n uint64) *bepb.CheckTabletReply { return &bepb.CheckTabletReply{Sum: n, Rows: 1} }
	for _, c := range []struct {
		name   string
		all    int
		sums   []*bepb.CheckTabletReply
		bad    []int
		differ bool
	}{
		{"equal", 3, []*bepb.CheckTabletReply{sum(1), sum(1), sum(1)}, nil, false},
		{"one differs", 3, []*bepb.CheckTabletReply{sum(1), sum(2), sum(1)}, []int{1}, true},
		{"two of five differ", 5, []*bepb.CheckTabletReply{sum(3), sum(1), sum(2), sum(1), sum(1)}, []int{0, 2}, true},
		{"rows differ", 3, []*bepb.CheckTabletReply{sum(1), sum(1), {Sum: 1, Rows: 2}}, []int{2}, true},
		{"one against one", 2, []*bepb.CheckTabletReply{sum(1), sum(2)}, nil, true},
		{"one does not answer", 3, []*bepb.CheckTabletReply{sum(1), nil, sum(2)}, nil, true},
		{"two agree, one does not answer", 3, []*bepb.CheckTabletReply{sum(1), nil, sum(1)}, nil, false},
		{"all differ", 3, []*bepb.CheckTabletReply{sum(1), sum(2), sum(3)}, nil, true},
		{"alone", 1, []*bepb.CheckTabletReply{sum(1)}, nil, false},
	} {
		bad, differ := (&comparison{all: c.all, sums: c.sums}).judge()
		if !slices.Equal(bad, c.bad) || differ != c.differ {
			t.Errorf("%s: %v, %v", c.name, bad, differ)
		}
	}
}

// TestHours: the window may reach over midnight.
func TestHours(t *testing.T) {
	for _, c := range []struct {
		start, end, hour int
		want             bool
	}{
		{23, 4, 23, true}, {23, 4, 0, true}, {23, 4, 4, false}, {23, 4, 12, false},
		{1, 3, 1, true}, {1, 3, 3, false}, {5, 5, 5, false},
	} {
		k := NewChecker(CheckConfig{Hours: func() (start, end int) { return c.start, c.end }})
		if got := k.inHours(time.Date(2026, 1, 2, c.hour, 30, 0, 0, time.UTC)); got != c.want {
			t.Errorf("%d to %d at %d: %v", c.start, c.end, c.hour, got)
		}
	}
}
