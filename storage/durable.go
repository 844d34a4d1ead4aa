package storage

import "sync"

// durability knows which unsynced commits of a root became durable. Pebble's
// log keeps the order of commits, so a synced one makes all that returned before
// it began durable as well.
type durability struct {
	mu sync.Mutex
	// first is the number of then[0] among all that were ever added.
	first uint64
	then  []func()
	// wake is told of the first one that waits.
	wake chan struct{}
}

// after runs fn once the unsynced commit that has just returned is durable.
func (d *durability) after(fn func()) {
	d.mu.Lock()
	d.then = append(d.then, fn)
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// mark is taken before a synced commit begins.
func (d *durability) mark() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.first + uint64(len(d.then))
}

// reached is called after the synced commit that began after mark succeeded.
func (d *durability) reached(mark uint64) {
	d.mu.Lock()
	var run []func()
	if mark > d.first {
		n := mark - d.first
		run = d.then[:n:n]
		d.then, d.first = d.then[n:], mark
	}
	d.mu.Unlock()
	for _, fn := range run {
		fn()
	}
}

// waiting reports whether anything is not durable yet.
func (d *durability) waiting() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.then) > 0
}
