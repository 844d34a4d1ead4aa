package exec

import (
	"slices"
	"testing"
	"time"
)

func TestSuspects(t *testing.T) {
	var s suspects
	now := time.Unix(1000, 0)
	if got := s.list(now); len(got) != 0 {
		t.Errorf("nobody is suspect: %v", got)
	}
	s.add(1, now)
	s.add(2, now.Add(time.Second))
	for _, tc := range []struct {
		after time.Duration
		want  []int64
	}{{time.Second, []int64{1, 2}}, {suspectFor, []int64{2}}, {suspectFor + time.Second, nil}} {
		got := s.list(now.Add(tc.after))
		slices.Sort(got)
		if !slices.Equal(got, tc.want) {
			t.Errorf("after %s: %v, want %v", tc.after, got, tc.want)
		}
	}
	if len(s.until) != 0 {
		t.Errorf("%v are remembered", s.until)
	}
}
