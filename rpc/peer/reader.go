package peer

import (
	"sync/atomic"
	"time"
)

// readerPatience is how long the work on a frame may keep its stream unread; it may
// be up to twice that, since a timer looks now and then.
const readerPatience = 10 * time.Millisecond

// reader is the right to read a stream. Who has it also does the work on what it
// has read, so that no other goroutine must be woken for that. If the work takes
// longer than readerPatience, which a slow disk can do, the right goes to a new
// goroutine.
type reader struct {
	// read reads on, on a goroutine of its own. It is set before the first work.
	read func()
	// state is odd while work is under way; who changes it has the right.
	state atomic.Uint64
	// watched says that the timer runs: it does while there is work now and then,
	// since to start it each time would cost more than the work.
	watched atomic.Bool
	timer   *time.Timer
	seen    uint64 // the timer's
}

func newReader() *reader {
	r := &reader{}
	r.timer = time.AfterFunc(time.Hour, r.watch)
	r.timer.Stop()
	return r
}

// work calls f, and reports whether the caller may read on.
func (r *reader) work(f func()) (mine bool) {
	busy := r.state.Add(1)
	if !r.watched.Load() && r.watched.CompareAndSwap(false, true) {
		r.timer.Reset(readerPatience)
	}
	f()
	return r.state.CompareAndSwap(busy, busy+1)
}

// watch is what the timer does.
func (r *reader) watch() {
	now := r.state.Load()
	unchanged := now == r.seen
	r.seen = now
	busy := now%2 == 1
	if unchanged && busy && r.state.CompareAndSwap(now, now+1) {
		go r.read()
	} else if unchanged && !busy {
		r.watched.Store(false)
		// Work that began just now may have seen the timer running.
		if r.state.Load() == now || !r.watched.CompareAndSwap(false, true) {
			return
		}
	}
	r.timer.Reset(readerPatience)
}

// stop ends the watch, by who has the right.
func (r *reader) stop() { r.timer.Stop() }
