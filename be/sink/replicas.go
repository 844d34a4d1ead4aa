package sink

import (
	"context"
	"fmt"
	"sync"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
)

const (
	// graceLeast and graceMost bound how long a write waits for the replicas
	// that are left once each tablet has a majority; between them it is twice
	// what the majority took.
	graceLeast, graceMost = 100 * time.Millisecond, 5 * time.Second
	// lateLimit is how long a write that is late may go on. One that ends in
	// this time closes the hole that its commit noted (docs/protocol.md, H33).
	lateLimit = 60 * time.Second
	// lateBytes bounds what is kept in memory for late writes to one backend:
	// beyond it the backend gets nothing and needs a clone.
	lateBytes = 64 << 20
)

// lateness is what a Sink knows of slow backends. It is safe for concurrent use.
type lateness struct {
	ctx    context.Context //nolint:containedctx // the life of writes that outlive their load
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	// backends that were late and have not answered in time since.
	backends map[int64]*late
}

type late struct {
	// bytes are on their way.
	bytes int64
	// slow says that nobody waits for the backend beyond the majority. It ends with
	// a write that somebody waited for, or that took no longer than graceLeast.
	slow bool
}

func newLateness() *lateness {
	l := &lateness{backends: map[int64]*late{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// close ends the writes that are late and waits for them.
func (l *lateness) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	l.wg.Wait()
}

// begin notes a write to a backend; the error says that the backend is too far
// behind to get it.
func (l *lateness) begin(backend, bytes int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return doriserr.New(doriserr.Stopping, "the backend is stopping")
	}
	b := l.backends[backend]
	if b == nil {
		b = &late{}
		l.backends[backend] = b
	}
	if b.slow && b.bytes > 0 && b.bytes+bytes > lateBytes {
		return doriserr.New(doriserr.ExceededLimit, "it is %d bytes behind", b.bytes)
	}
	b.bytes += bytes
	l.wg.Add(1)
	return nil
}

// end notes that a write ended; inTime says that it was worth the wait.
func (l *lateness) end(backend, bytes int64, inTime bool) {
	l.mu.Lock()
	b := l.backends[backend]
	b.bytes -= bytes
	if inTime {
		b.slow = false
	}
	if b.bytes == 0 && !b.slow {
		delete(l.backends, backend)
	}
	l.mu.Unlock()
	l.wg.Done()
}

func (l *lateness) mark(backend int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.backends[backend]; b != nil {
		b.slow = true
	}
}

func (l *lateness) slow(backend int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.backends[backend]
	return b != nil && b.slow
}

// sending is one call of write.send.
type sending struct {
	w     *write
	built []builtRowset
	ctx   context.Context //nolint:containedctx // of the writes: it lives longer than the call
	// open are the backends that have not answered.
	open map[int64]bool
	done chan answer

	mu sync.Mutex
	// left says that nobody waits for the answers any more.
	left bool
}

type answer struct {
	backend int64
	err     error
}

// send gives every backend its rowsets, all at once. It waits for a majority of
// each tablet's replicas, and for the others a little longer; then they are
// noted as failed and their writes go on alone.
func (w *write) send(ctx context.Context, built []builtRowset) {
	requests := w.requests(built)
	s := &sending{w: w, built: built, open: map[int64]bool{}, done: make(chan answer, len(requests))}
	var cancel context.CancelFunc
	s.ctx, cancel = context.WithCancel(w.s.late.ctx)
	stop := context.AfterFunc(ctx, cancel)
	start := time.Now()
	var all sync.WaitGroup
	for backend, r := range requests {
		size := int64(0)
		for _, rs := range r.Rowsets {
			size += int64(len(rs.Data))
		}
		if err := w.s.late.begin(backend, size); err != nil {
			w.failed[backend] = err
			continue
		}
		s.open[backend] = true
		all.Add(1)
		go func() {
			defer all.Done()
			s.write(backend, size, r)
		}()
	}
	s.wait(start)
	if len(s.open) == 0 {
		stop()
		cancel()
		return
	}
	// From here on the load does not decide over the late writes any more.
	stop()
	limit := time.AfterFunc(lateLimit, cancel)
	go func() {
		all.Wait()
		limit.Stop()
		cancel()
	}()
}

// requests are the writes of the backends that have not failed yet.
func (w *write) requests(built []builtRowset) map[int64]*bepb.WriteRowsetsRequest {
	out := map[int64]*bepb.WriteRowsetsRequest{}
	for i := range built {
		for _, r := range built[i].tablet.Replicas {
			if w.failed[r.BackendID] != nil {
				continue
			}
			q := out[r.BackendID]
			if q == nil {
				q = &bepb.WriteRowsetsRequest{
					TxnId: w.tx.ID, OwnerEpoch: w.tx.OwnerEpoch, TableId: w.t.ID, SchemaVersion: w.t.SchemaVersion, Columns: w.columns, Replay: w.replay,
				}
				out[r.BackendID] = q
			}
			q.Rowsets = append(q.Rowsets, built[i].rowset)
			q.Replicas = append(q.Replicas, &bepb.TabletReplica{TabletId: built[i].tablet.ID, ReplicaId: r.ID, FromClone: r.Cloning})
		}
	}
	return out
}

// write is one backend's write.
func (s *sending) write(backend, size int64, r *bepb.WriteRowsetsRequest) {
	start := time.Now()
	err := s.w.s.writer.WriteRowsets(s.ctx, backend, r)
	s.mu.Lock()
	left := s.left
	if !left {
		s.done <- answer{backend, err}
	}
	s.mu.Unlock()
	s.w.s.late.end(backend, size, err == nil && (!left || time.Since(start) <= graceLeast))
	if left {
		s.w.s.log.Info("a write to a slow backend ended after its load", "txn_id", r.TxnId, "backend_id", backend, "bytes", size, "err", err)
	}
}

// wait takes answers until nobody is open that is worth waiting for.
func (s *sending) wait(start time.Time) {
	var grace <-chan time.Time
	for len(s.open) > 0 {
		if grace == nil && s.majority() {
			if s.onlySlow() {
				break
			}
			t := time.NewTimer(min(max(graceLeast, 2*time.Since(start)), graceMost))
			defer t.Stop()
			grace = t.C
		}
		select {
		case a := <-s.done:
			s.take(a)
			continue
		case <-grace:
		}
		break
	}
	s.mu.Lock()
	s.left = true
	s.mu.Unlock()
	for len(s.done) > 0 {
		s.take(<-s.done)
	}
	for backend := range s.open {
		s.w.s.late.mark(backend)
		s.w.failed[backend] = errLate
	}
}

var errLate = doriserr.New(doriserr.Timeout, "it did not answer in time")

func (s *sending) take(a answer) {
	delete(s.open, a.backend)
	if a.err != nil {
		s.w.failed[a.backend] = a.err
	}
}

// majority reports whether each tablet's rowset is stored by a majority.
func (s *sending) majority() bool {
	for i := range s.built {
		have, of := 0, 0
		for _, r := range s.built[i].tablet.Replicas {
			if r.Cloning {
				continue
			}
			of++
			if !s.open[r.BackendID] && s.w.failed[r.BackendID] == nil {
				have++
			}
		}
		if have < of/2+1 {
			return false
		}
	}
	return true
}

// onlySlow reports whether all that are open were late before.
func (s *sending) onlySlow() bool {
	for backend := range s.open {
		if !s.w.s.late.slow(backend) {
			return false
		}
	}
	return true
}

// counted is how many of a tablet's replicas count for a majority.
func counted(t *meta.Tablet) int {
	n := 0
	for _, r := range t.Replicas {
		if !r.Cloning {
			n++
		}
	}
	return n
}

// note records a rowset for the commit; it is an error if fewer than a majority
// of its tablet's replicas have all of the transaction.
func (w *write) note(b *builtRowset) error {
	tw := w.tabletWrite(b)
	have := 0
	var cause error
	tw.Backends, tw.Replicas = tw.Backends[:0], tw.Replicas[:0]
	for _, r := range b.tablet.Replicas {
		if err := w.failed[r.BackendID]; err != nil {
			cause = fmt.Errorf("backend %d: %w", r.BackendID, err)
			continue
		}
		tw.Backends, tw.Replicas = append(tw.Backends, r.BackendID), append(tw.Replicas, r.ID)
		if !r.Cloning {
			have++
		}
	}
	if n := counted(b.tablet); have < n/2+1 {
		return notWritten(tw.TabletId, have, n, cause)
	}
	if cause != nil {
		w.s.log.Debug("a replica was not written", "txn_id", w.tx.ID, "tablet_id", tw.TabletId, "err", cause)
	}
	return nil
}
