package wal

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// keepBuffer is the largest frame buffer that a writer keeps for the next
	// frame.
	keepBuffer = 4 << 20
	// When a frame of at most padFrame bytes reaches the file's end, the file is
	// lengthened with zeros to a multiple of padMin bytes, of up to padMax when
	// it is that long itself. Frames that are then written over zeros leave the
	// file's length and blocks as they are, so that their fsync need not write
	// the file's metadata: one write to the disk instead of two, and no commit of
	// the file system's journal. Larger frames would pay more for zeros than
	// they gain.
	padMin   = 4 << 10
	padMax   = 64 << 10
	padFrame = 8 << 10
)

// Writer appends the records of one group to its file. Any number of goroutines
// may call Enqueue. Frames are written one after the other, by a goroutine of the
// Writer's own, which ends with Close (or Seal, some time later), or by one that
// calls Flush.
type Writer struct {
	m    *Manager
	dir  *dir
	path string
	file *openFile
	f    vfs.File
	seed uint32
	// before is the checksum that the next frame names, off where it goes, end
	// the length of the file; they belong to who writes.
	before   uint32
	off, end int64
	// padding are the bytes between off and end.
	padding atomic.Int64
	// onDead runs once, by the goroutine that wrote, when the file died and before
	// anybody who waits hears of it.
	onDead func(error)

	mu     sync.Mutex
	next   *Pending // what the next frame will hold; nil if nothing waits
	now    *Pending // the frame that is being written
	last   *Pending // what was handed out last
	free   []byte   // an empty buffer with capacity, if one is left
	sealed bool
	waived bool  // Waive was called
	err    error // why the file is dead

	wake     chan struct{}
	finished chan struct{}
	frames   atomic.Int64
	records  atomic.Int64
}

func newWriter(m *Manager, d *dir, file *openFile, f vfs.File, off int64, seed uint32, onDead func(error)) *Writer {
	w := &Writer{
		m: m, dir: d, path: file.info.Path, file: file, f: f, seed: seed, before: seed, off: off, end: off, onDead: onDead,
		wake: make(chan struct{}, 1), finished: make(chan struct{}),
	}
	go w.run()
	return w
}

// Path is the file's path.
func (w *Writer) Path() string { return w.path }

// Bytes is the length of header and frames, those under way included, without
// padding.
func (w *Writer) Bytes() int64 { return w.file.size.Load() - w.padding.Load() }

// Counts are the frames (so fsyncs) and records written so far.
func (w *Writer) Counts() (frames, records int64) { return w.frames.Load(), w.records.Load() }

// Enqueue gives the record its place in the file; the order of calls is the
// order in the file. The record's bytes are copied. It is durable when the
// Pending is done without error. An error of Enqueue itself means that the
// record is surely not in the file: ErrClosed, ErrDead, ErrNoSpace.
func (w *Writer) Enqueue(id [16]byte, rows int, encoded []byte) (*Pending, error) {
	return w.enqueue(id, rows, encoded, false)
}

// Hold is Enqueue for a caller that has more records to give, and calls Kick
// after the last one: until then a frame of held records alone is not written.
func (w *Writer) Hold(id [16]byte, rows int, encoded []byte) (*Pending, error) {
	return w.enqueue(id, rows, encoded, true)
}

// Kick has held records written.
func (w *Writer) Kick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.release()
}

// Flush is Kick, and writes the frame on the caller's goroutine if it is small and
// nobody writes: for few records, to wake another goroutine costs as much as the
// work. The caller must bear to wait for the disk.
func (w *Writer) Flush() {
	w.mu.Lock()
	p := w.next
	if w.now != nil || w.sealed || p == nil || !p.held || len(p.buf) > flushMost {
		w.release()
		w.mu.Unlock()
		return
	}
	w.next, w.now = nil, p
	w.mu.Unlock()
	w.write(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sealed || w.err != nil || w.next != nil && !w.next.held {
		w.signal()
	}
}

// flushMost is the largest frame, in bytes, that Flush writes itself: some 60 loads
// of a row. To read and decode many more takes long enough to be worth doing beside
// the disk's work.
const flushMost = 4 << 10

// release lets the next frame be written. w.mu is held.
func (w *Writer) release() {
	if w.next != nil && w.next.held {
		w.next.held = false
		w.signal()
	}
}

// signal wakes the file's own goroutine.
func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *Writer) enqueue(id [16]byte, rows int, encoded []byte, hold bool) (*Pending, error) {
	size := recordBound(len(encoded))
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDead, w.err)
	case w.sealed:
		return nil, ErrClosed
	case w.next != nil && int64(len(w.next.buf))+size > maxFrame, size > maxFrame:
		return nil, fmt.Errorf("%w in one frame for %d bytes", ErrNoSpace, len(encoded))
	case !w.dir.fits(size + frameHeader):
		return nil, fmt.Errorf("%w in %s for %d bytes", ErrNoSpace, w.dir.path, len(encoded))
	}
	p := w.next
	var before int
	if p == nil {
		p = &Pending{w: w, done: make(chan struct{}), held: true}
		p.buf = append(w.free[:0], make([]byte, frameHeader)...)
		w.free = nil
		w.next, w.last = p, p
	} else {
		before = len(p.buf)
	}
	p.buf = appendRecord(p.buf, id, rows, encoded)
	p.n++
	w.file.grow(w.dir, int64(len(p.buf)-before))
	if !hold {
		w.release()
	}
	return p, nil
}

// Last is the Pending that Enqueue returned last, nil before the first. When it
// is done without error, so is every one before it.
func (w *Writer) Last() *Pending {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// Append is Enqueue and Wait.
func (w *Writer) Append(ctx context.Context, id [16]byte, rows int, encoded []byte) error {
	p, err := w.Enqueue(id, rows, encoded)
	if err != nil {
		return err
	}
	return p.Wait(ctx)
}

// Seal ends the file: no record joins any more; those that wait are still
// written. Finished tells when that is done.
func (w *Writer) Seal() {
	w.mu.Lock()
	w.sealed = true
	w.mu.Unlock()
	w.signal()
}

// Finished is closed when the writer's goroutine is gone and the file closed.
func (w *Writer) Finished() <-chan struct{} { return w.finished }

// Close seals the file, waits for what waits, and returns the file's first
// error.
func (w *Writer) Close() error {
	w.Seal()
	<-w.finished
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Err is why the file is dead, nil while it is well.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *Writer) run() {
	defer close(w.finished)
	for {
		p, more := w.takeWaiting()
		if p != nil {
			w.write(p)
			continue
		}
		if !more {
			break
		}
		<-w.wake
	}
	if err := w.f.Close(); err != nil && w.Err() == nil {
		// Everything was fsynced before: nothing is lost by this.
		w.m.log.Warn("cannot close wal file", "path", w.path, "err", err)
	}
}

// takeWaiting returns what can be written now, and whether there will be more.
func (w *Writer) takeWaiting() (p *Pending, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.now != nil: // Flush is at it, and signals afterwards
		return nil, true
	case w.err != nil:
		return nil, false
	case w.next != nil && (w.sealed || !w.next.held):
		p, w.next = w.next, nil
		w.now = p
	}
	return p, !w.sealed
}

// write writes a frame and answers those who wait for it. w.now is the frame
// meanwhile.
func (w *Writer) write(p *Pending) {
	if err := w.writeFrame(p.buf); err != nil {
		w.die(p, err)
		return
	}
	w.frames.Add(1)
	w.records.Add(p.n)
	w.m.counters.frames.Add(1)
	w.m.counters.records.Add(p.n)
	w.m.counters.bytes.Add(int64(len(p.buf)))
	// Those who wait are answered during the next fsync, if loads wait for
	// one: to let them run first made frames larger and the disk idle.
	w.finish(p)
}

func (w *Writer) writeFrame(buf []byte) error {
	w.before = sealFrame(buf, w.seed, w.before)
	n := int64(len(buf))
	if _, err := w.f.WriteAt(w.padded(buf), w.off); err != nil {
		return fmt.Errorf("cannot write %s: %w", w.path, err)
	}
	w.off += n
	if w.m.opts.NoSync {
		return nil
	}
	if err := w.f.SyncData(); err != nil {
		return fmt.Errorf("cannot fsync %s: %w", w.path, err)
	}
	return nil
}

// padded returns what is written for a frame: with zeros behind it if it goes
// beyond the file's end, is small, and the directory has room.
func (w *Writer) padded(buf []byte) []byte {
	n := int64(len(buf))
	left := w.end - w.off - n
	switch {
	case left >= 0:
	case n > padFrame:
		left = 0
	default:
		step := int64(padMin)
		for step < padMax && 2*step <= w.off+n {
			step *= 2
		}
		if left = step - (w.off+n)%step; !w.dir.fits(left) {
			left = 0
		}
	}
	if w.off+n+left > w.end {
		w.end = w.off + n + left
		buf = append(buf, make([]byte, left)...)
	}
	w.file.grow(w.dir, left-w.padding.Swap(left))
	return buf
}

// die answers everybody who waits; their records may or may not be in the file.
func (w *Writer) die(p *Pending, err error) {
	w.m.counters.failures.Add(1)
	w.mu.Lock()
	w.err = err
	waiting := w.next
	w.next = nil
	w.mu.Unlock()
	if w.onDead != nil {
		w.onDead(err)
	}
	for _, q := range []*Pending{p, waiting} {
		if q != nil {
			q.err = fmt.Errorf("%w: %w", ErrDead, err)
			w.finish(q)
		}
	}
}
