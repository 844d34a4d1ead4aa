package clustertest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// entry is one load: its rows have the ids first, first+1, …
type entry struct {
	mode  string
	first int64
	rows  int
	acked bool
	// err is why it was not acknowledged.
	err string
}

// count is what became of a mode's loads.
type count struct {
	acked, refused int
	longest        time.Duration
}

// ledger is what the clients sent. It is safe for concurrent use.
type ledger struct {
	mu      sync.Mutex
	entries []*entry
	counts  map[string]*count
}

func newLedger() *ledger { return &ledger{counts: map[string]*count{}} }

// add records a load before it is sent.
func (l *ledger) add(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
}

// done records a load's answer.
func (l *ledger) done(e *entry, took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counts[e.mode]
	if c == nil {
		c = &count{}
		l.counts[e.mode] = c
	}
	c.longest = max(c.longest, took)
	if err != nil {
		c.refused++
		e.err = err.Error()
		return
	}
	c.acked++
	e.acked = true
}

// acked is the number of acknowledged loads of each mode.
func (l *ledger) acked() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]int, len(l.counts))
	for mode, c := range l.counts {
		out[mode] = c.acked
	}
	return out
}

// summary is a line for each mode.
func (l *ledger) summary() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for mode, c := range l.counts {
		lines = append(lines, fmt.Sprintf("%-14s %6d acknowledged, %5d not, longest %s", mode, c.acked, c.refused, c.longest.Round(time.Millisecond)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// reasons are the texts of refusals, each with its number, the commonest first.
func (l *ledger) reasons(limit int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := map[string]int{}
	for _, e := range l.entries {
		if !e.acked && e.err == "" {
			n[e.mode+": no answer yet"]++
		} else if !e.acked {
			n[e.mode+": "+strings.Map(dropDigits, e.err)]++
		}
	}
	var texts []string
	for text := range n {
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int { return n[b] - n[a] })
	for i, text := range texts {
		texts[i] = fmt.Sprintf("%6d  %s", n[text], text)
	}
	return texts[:min(len(texts), limit)]
}

func dropDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}

// check compares the ids found in the table with what was sent. It returns what
// is wrong for good, and what of the acknowledged rows is missing so far.
func (l *ledger) check(found []int64) (wrong, missing []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	times := make(map[int64]int, len(found))
	for _, id := range found {
		times[id]++
	}
	for _, e := range l.entries {
		have, double := 0, false
		for id := e.first; id < e.first+int64(e.rows); id++ {
			n := times[id]
			delete(times, id)
			double = double || n > 1
			have += n
		}
		state := "acknowledged"
		if !e.acked {
			state = "not acknowledged (" + e.err + ")"
		}
		text := fmt.Sprintf("%s, %s: %d of the %d rows from id %d are there", e.mode, state, have, e.rows, e.first)
		switch {
		case double:
			wrong = append(wrong, text+", some more than once")
		case e.acked && have < e.rows:
			missing = append(missing, text)
		case have > 0 && have < e.rows:
			wrong = append(wrong, text+": a load is whole or not at all")
		}
	}
	for id, n := range times {
		wrong = append(wrong, fmt.Sprintf("id %d is there %d times, and nobody sent it", id, n))
	}
	return wrong, missing
}

func TestLedger(t *testing.T) {
	for _, c := range []struct {
		name           string
		acked          bool
		found          []int64
		wrong, missing int
	}{
		{"acknowledged and there", true, []int64{5, 6}, 0, 0},
		{"acknowledged and half there", true, []int64{5}, 0, 1},
		{"acknowledged and gone", true, nil, 0, 1},
		{"acknowledged and doubled", true, []int64{5, 6, 6}, 1, 0},
		{"refused and there", false, []int64{5, 6}, 0, 0},
		{"refused and gone", false, nil, 0, 0},
		{"refused and half there", false, []int64{6}, 1, 0},
		{"refused and doubled", false, []int64{5, 6, 5, 6}, 1, 0},
		{"from nowhere", true, []int64{5, 6, 7}, 1, 0},
	} {
		l := newLedger()
		l.add(&entry{first: 5, rows: 2, acked: c.acked})
		if wrong, missing := l.check(c.found); len(wrong) != c.wrong || len(missing) != c.missing {
			t.Errorf("%s: wrong %q, missing %q", c.name, wrong, missing)
		}
	}
}
