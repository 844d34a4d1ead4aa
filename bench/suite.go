package bench

import (
	"context"
	"slices"
	"time"
)

// Suite is a list of cases, measured on each target in turn, in alternation:
// what disturbs the machine then disturbs all of them.
type Suite struct {
	Targets []Target
	Cases   []Case
	// Rounds of each case; 0 is 1.
	Rounds  int
	Options Options
	// Pause goes between measurements.
	Pause time.Duration
	// Progress hears of each result; it may be nil.
	Progress func(*Result)
}

// Run measures everything. Results that are there come with the error.
func (s *Suite) Run(ctx context.Context) ([]*Result, error) {
	var all []*Result
	for _, c := range s.Cases {
		for round := range max(1, s.Rounds) {
			targets := slices.Clone(s.Targets)
			if round%2 == 1 {
				slices.Reverse(targets) // nobody is always the first
			}
			for _, t := range targets {
				if c.Protocol == StreamLoad && !t.Doris {
					continue
				}
				r, err := Run(ctx, t, c, s.Options)
				if err != nil {
					return all, err
				}
				r.Round = round + 1
				all = append(all, r)
				if s.Progress != nil {
					s.Progress(r)
				}
				if err := sleep(ctx, s.Pause); err != nil {
					return all, err
				}
			}
		}
	}
	return all, nil
}

// Cases are all combinations.
func Cases(tables []*Table, modes, protocols []string, rows, connections []int, interval time.Duration) []Case {
	var cases []Case
	for _, t := range tables {
		for _, m := range modes {
			for _, p := range protocols {
				for _, r := range rows {
					for _, n := range connections {
						cases = append(cases, Case{Table: t, Mode: m, Protocol: p, Connections: n, Rows: r, Interval: interval})
					}
				}
			}
		}
	}
	return cases
}
