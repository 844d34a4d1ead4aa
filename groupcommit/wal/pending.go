package wal

import "context"

// Pending is a frame that is not yet on disk. All loads that arrive during one
// fsync share one.
type Pending struct {
	w    *Writer
	buf  []byte
	n    int64
	done chan struct{}
	err  error

	// Under w.mu. held says that the frame waits for a Kick; then is what runs when
	// it is done.
	held bool
	then []func()
}

// Done is closed when the frame is on disk or its file is dead.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Err is the result, valid once Done is closed: nil means durable. Any error
// means that it is not known whether the records will be found by a replay.
func (p *Pending) Err() error { return p.err }

// Wait waits for Done or for the end of ctx.
func (p *Pending) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Then calls f once: when Done is closed, by the goroutine that wrote the frame, or
// at once if it is; or when Waive is called, or was. f must return soon. It spares a
// goroutine that would only wait.
func (p *Pending) Then(f func()) {
	p.w.mu.Lock()
	select {
	case <-p.done:
	default:
		if !p.w.waived {
			p.then = append(p.then, f)
			f = nil
		}
	}
	p.w.mu.Unlock()
	if f != nil {
		f()
	}
}

// finish closes Done and runs what waits for that. The file can be written
// again.
func (w *Writer) finish(p *Pending) {
	w.mu.Lock()
	if w.now == p {
		w.now = nil
	}
	if w.err == nil && cap(p.buf) <= keepBuffer {
		w.free = p.buf
	}
	p.buf = nil
	then := p.then
	p.then = nil
	close(p.done)
	w.mu.Unlock()
	for _, f := range then {
		f()
	}
}

// Waive runs what waits, or will wait, by Then for frames that are not on disk:
// their loads need that no more, and the disk may hang.
func (w *Writer) Waive() {
	var then []func()
	w.mu.Lock()
	w.waived = true
	for _, p := range []*Pending{w.now, w.next} {
		if p != nil {
			then = append(then, p.then...)
			p.then = nil
		}
	}
	w.mu.Unlock()
	for _, f := range then {
		f()
	}
}
