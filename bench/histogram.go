package bench

import (
	"math"
	"math/bits"
	"time"
)

// Histogram counts durations in buckets of at most 1.6 % width. Its size is
// fixed. It is not safe for use by several goroutines.
type Histogram struct {
	counts [64 * subBuckets]int64
	n      int64
	max    time.Duration
}

const (
	subBits    = 6
	subBuckets = 1 << subBits
)

// Add counts one duration.
func (h *Histogram) Add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.n++
	h.max = max(h.max, d)
}

// bucketOf: below subBuckets ns a bucket each, then subBuckets for each doubling.
func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < subBuckets {
		return int(v)
	}
	e := bits.Len64(v) - subBits - 1
	return (e+1)<<subBits + int(v>>e&(subBuckets-1))
}

// upper is the greatest duration of a bucket.
func upper(b int) time.Duration {
	if b < subBuckets {
		return time.Duration(b)
	}
	e := b>>subBits - 1
	low := uint64(subBuckets+b&(subBuckets-1)) << e
	return time.Duration(low + 1<<e - 1)
}

// Merge adds o's counts.
func (h *Histogram) Merge(o *Histogram) {
	for i, c := range o.counts {
		h.counts[i] += c
	}
	h.n += o.n
	h.max = max(h.max, o.max)
}

// Count is the number of durations.
func (h *Histogram) Count() int64 { return h.n }

// Max is the greatest duration.
func (h *Histogram) Max() time.Duration { return h.max }

// Quantile is the duration that the share q (0 to 1) does not exceed; 0 if
// nothing was counted.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := max(1, int64(math.Ceil(q*float64(h.n))))
	for b, c := range h.counts {
		if rank -= c; rank <= 0 {
			return min(upper(b), h.max)
		}
	}
	return h.max
}
