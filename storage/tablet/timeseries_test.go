package tablet

import (
	"slices"
	"testing"
)

// TestTimeSeriesRun: sizes as in TestCompactRun; a file of 7 was merged before.
func TestTimeSeriesRun(t *testing.T) {
	for _, tt := range []struct {
		name  string
		due   bool
		sizes []int64
		want  []int64
	}{
		{"empty", true, nil, nil},
		{"too little", false, []int64{1, 1, 1}, nil},
		{"too little for long", true, []int64{1, 2, 1}, []int64{1, 2, 1}},
		{"one alone for long", true, []int64{7, 1}, nil},
		{"the goal", false, []int64{40, 40, 30, 1, 1}, []int64{40, 40, 30}},
		{"many", false, []int64{1, 1, 1, 1, 1, 1}, []int64{1, 1, 1, 1, 1}},
		{"merged ones stay", false, []int64{7, 7, 7, 7, 7, 7, 1, 1}, nil},
		{"merged ones part runs", false, []int64{1, 1, 1, 7, 1, 1, 1}, nil},
		{"merged ones part runs that are due", true, []int64{1, 7, 1, 2, 7, 3, 3}, []int64{1, 2}},
		{"full ones stay", false, []int64{51, 60, 70, 80}, nil},
		{"inline rowsets part runs", false, []int64{1, 1, -1, 1, 1, 1}, nil},
		{"a damaged one parts runs", true, []int64{1, 0, 1, 1}, []int64{1, 1}},
		{"other columns part runs", true, []int64{1, 1001, 1001}, []int64{1, 1}},
		{"other columns of one each", true, []int64{1, 1001}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := graphOf(t, tt.sizes...)
			for rs := range g.Live() {
				rs.FileBytes = rs.Bytes
				if rs.Bytes == 7 {
					rs.Merges = 1
				}
			}
			var got []int64
			run := g.TimeSeriesRun(TimeSeriesPolicy{GoalBytes: 100, FileCount: 5, Due: tt.due})
			for _, rs := range run {
				got = append(got, rs.FileBytes)
			}
			if !slices.Equal(got, tt.want) || run != nil && !g.Replaceable(run) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
