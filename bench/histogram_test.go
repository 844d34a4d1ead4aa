package bench

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	var h Histogram
	if h.Quantile(0.5) != 0 || h.Max() != 0 {
		t.Error("an empty histogram has durations")
	}
	const seed = 3
	rng := rand.New(rand.NewPCG(seed, seed))
	var all []time.Duration
	for range 10_000 {
		d := time.Duration(1) << rng.IntN(36)
		d += time.Duration(rng.Int64N(int64(d)))
		all = append(all, d)
		h.Add(d)
	}
	slices.Sort(all)
	for _, q := range []float64{0, 0.01, 0.5, 0.95, 0.99, 0.999, 1} {
		want := all[max(0, int(q*float64(len(all)))-1)]
		if got := h.Quantile(q); float64(got) < float64(want) || float64(got) > float64(want)*1.017 {
			t.Errorf("seed %d: quantile %v is %s, exactly %s", seed, q, got, want)
		}
	}
	if h.Max() != all[len(all)-1] || h.Count() != 10_000 {
		t.Errorf("max %s, count %d", h.Max(), h.Count())
	}
}

// Buckets follow each other without holes or overlap.
func TestBuckets(t *testing.T) {
	last := time.Duration(-1)
	for b := range 40 * subBuckets {
		if bucketOf(last+1) != b || bucketOf(upper(b)) != b {
			t.Fatalf("bucket %d from %d to %d", b, last+1, upper(b))
		}
		last = upper(b)
	}
}

func TestMerge(t *testing.T) {
	var a, b Histogram
	a.Add(time.Second)
	b.Add(time.Minute)
	a.Merge(&b)
	if a.Count() != 2 || a.Max() != time.Minute {
		t.Errorf("%d, %s", a.Count(), a.Max())
	}
}
