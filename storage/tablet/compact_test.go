package tablet

import (
	"math/rand/v2"
	"slices"
	"testing"

	"dorisgo/storage/rowset"
)

// graphOf is a tablet whose rowsets have the given sizes; a negative size is an
// inline rowset, 0 is a damaged file, and sizes above 1000 are written with
// other columns.
func graphOf(t *testing.T, sizes ...int64) *Graph {
	t.Helper()
	g := &Graph{}
	for i, n := range sizes {
		rs := &Rowset{Record: rowset.Record{Kind: rowset.File, Start: int64(i) + 2, End: int64(i) + 2}}
		rs.ID[0], rs.ID[1] = byte(i), byte(i>>8)
		switch rs.Bytes = n; {
		case n < 0:
			rs.Kind, rs.Bytes = rowset.Inline, -n
		case n == 0:
			rs.Damaged, rs.Bytes = true, 1
		case n > 1000:
			rs.ColumnsID[0], rs.Bytes = 1, n-1000
		}
		if err := g.Add(rs); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func TestCompactRun(t *testing.T) {
	p := CompactPolicy{MinFiles: 3, MaxFiles: 5, MaxBytes: 100}
	for _, tt := range []struct {
		name  string
		sizes []int64
		want  []int64
	}{
		{"empty", nil, nil},
		{"too few", []int64{1, 1}, nil},
		{"equal", []int64{1, 1, 1}, []int64{1, 1, 1}},
		{"an older one that is half as large again as the newer ones together", []int64{4, 1, 1, 1}, []int64{4, 1, 1, 1}},
		{"an older one that is larger", []int64{5, 1, 1, 1}, []int64{1, 1, 1}},
		{"sizes that fall steeply", []int64{40, 20, 10, 5, 2}, nil},
		{"an older run behind a small file", []int64{9, 9, 9, 1}, []int64{9, 9, 9}},
		{"no more than MaxFiles", []int64{1, 1, 1, 1, 1, 1, 1}, []int64{1, 1, 1, 1, 1}},
		{"no more than MaxBytes", []int64{30, 30, 30, 30}, []int64{30, 30, 30}},
		{"full files stay", []int64{51, 51, 51, 51}, nil},
		{"inline rowsets are in the way", []int64{1, 1, -1, 1, 1}, nil},
		{"inline rowsets behind", []int64{1, 1, 1, -1, -1}, []int64{1, 1, 1}},
		{"a damaged file is in the way", []int64{1, 1, 0, 1, 1}, nil},
		{"other columns", []int64{1, 1, 1001, 1001, 1001}, []int64{1, 1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []int64
			g := graphOf(t, tt.sizes...)
			run := g.CompactRun(p)
			for _, rs := range run {
				got = append(got, rs.Bytes)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%v gives %v, want %v", tt.sizes, got, tt.want)
			}
			if run != nil && !g.Replaceable(run) {
				t.Error("the run cannot be replaced")
			}
		})
	}
}

// TestCompactBounds: however many files of whatever sizes come, few remain, and
// each byte is written again a few times only.
func TestCompactBounds(t *testing.T) {
	p := CompactPolicy{MinFiles: 4, MaxFiles: 32, MaxBytes: 1 << 20}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := &Graph{}
		var came, written int64
		most := 0
		for i := range 5000 {
			rs := &Rowset{Record: rowset.Record{Kind: rowset.File, Start: int64(i) + 2, End: int64(i) + 2}}
			rs.Bytes = 100 + r.Int64N(200)
			rs.ID = rowset.ID{byte(i), byte(i >> 8)}
			came += rs.Bytes
			if err := g.Add(rs); err != nil {
				t.Fatal(err)
			}
			for {
				run := g.CompactRun(p)
				if run == nil {
					break
				}
				out := &Rowset{Record: rowset.Record{Kind: rowset.File, Start: run[0].Start, End: run[len(run)-1].End}}
				out.ID = rowset.ID{byte(i), byte(i >> 8), 1, byte(len(run))}
				for _, in := range run {
					out.Bytes += in.Bytes
				}
				written += out.Bytes
				g.Replace(run, out, 1)
				g.Sweep(2)
			}
			_, files := g.Count()
			most = max(most, files)
		}
		if limit := 3*14 + int(came/(p.MaxBytes/2)); most > limit || written > 10*came {
			t.Errorf("seed %d: up to %d files (limit %d), %d bytes written for %d", seed, most, limit, written, came)
		}
		if seed == 0 {
			t.Logf("up to %d files; each byte was written again %.1f times", most, float64(written)/float64(came))
		}
	}
}
