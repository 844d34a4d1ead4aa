package groupcommit

import "context"

// TryAdd is Add up to its wait, for an async load that need not wait for its
// place: Wait then gives the ack. The load's WAL frame may wait for Kick, which
// the caller calls when it has no more loads to add. Without ok nothing of the
// load is anywhere, and Add takes it or says why not.
func (m *Manager) TryAdd(l *Load) (j Joined, ok bool) {
	if l.Rows == 0 || !l.Async || l.bytes() > int64(l.Table.DataBytes) {
		return Joined{}, false
	}
	t := m.table(l.Table.DBID, l.Table.ID, l.Table.Name)
	if !t.admitted.Load() || l.bytes() >= m.wals.Available()/10*8 || !m.mem.tryAcquire(l.bytes()) {
		return Joined{}, false
	}
	in, wait, err := t.tryJoin(l, true, true)
	if wait != nil {
		t.mu.Lock()
		wait.waiters--
		t.mu.Unlock()
	}
	if err != nil || wait != nil || in.repeat {
		m.mem.release(l.bytes())
	}
	if err != nil || wait != nil || in.repeat && !in.g.key.async {
		return Joined{}, false
	}
	m.added(l, &in)
	return Joined{in}, true
}

// Joined is an async load that has its place in a group.
type Joined struct{ j joined }

// Wait waits for the ack as Add does; ctx is the load's deadline.
func (j *Joined) Wait(ctx context.Context) (Ack, error) { return j.j.wait(ctx) }

// Kick has the load's WAL frame written, with all that was added before.
func (j *Joined) Kick() {
	if w := j.j.g.w; w != nil && j.j.pending != nil {
		w.Kick()
	}
}

// Flush is Kick by a caller that bears to wait for the disk: see wal.Writer.Flush.
func (j *Joined) Flush() {
	if w := j.j.g.w; w != nil && j.j.pending != nil {
		w.Flush()
	}
}

// Ready reports whether Wait would return at once.
func (j *Joined) Ready() bool {
	if j.j.pending == nil {
		return true
	}
	select {
	case <-j.j.g.done:
		return true
	default:
	}
	select {
	case <-j.j.pending.Done():
		return j.j.pending.Err() == nil // else the group's outcome counts
	default:
		return false
	}
}

// Then calls f once, when the load's frame is on disk, when its file is dead, or
// when its group was decided before either. If the file is dead the load may not be
// ready: Wait waits for the group to be committed from memory. f may be called by
// the goroutine that wrote the frame and must return soon.
func (j *Joined) Then(f func()) {
	if j.j.pending == nil {
		f()
		return
	}
	j.j.pending.Then(f)
}

// Together reports whether both loads are in the same group: what they wait for
// comes at about the same time.
func (j *Joined) Together(o *Joined) bool { return j.j.g == o.j.g }
