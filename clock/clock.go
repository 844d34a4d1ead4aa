// Package clock is the wall clock of the program. A test can move it, which a
// static binary does not let a library preload do. Timers and durations stay
// with package time: nothing that must not jump may depend on this clock.
package clock

import (
	"sync/atomic"
	"time"
)

// Clock tells the wall-clock time. The zero value is the system's clock. It is
// safe for use by many goroutines.
type Clock struct{ offset atomic.Int64 }

// Now is the time with the offset. It has no monotonic part once the clock was
// moved, so that a difference of two readings shows the jump, as it would on a
// machine whose clock was set.
func (c *Clock) Now() time.Time {
	d := c.offset.Load()
	if d == 0 {
		return time.Now()
	}
	return time.Now().Add(time.Duration(d)).Round(0)
}

// NowMs is Now in milliseconds since 1970.
func (c *Clock) NowMs() int64 { return c.Now().UnixMilli() }

// SetOffset moves the clock by d from the system's.
func (c *Clock) SetOffset(d time.Duration) { c.offset.Store(int64(d)) }

// Offset is how far the clock is from the system's.
func (c *Clock) Offset() time.Duration { return time.Duration(c.offset.Load()) }
