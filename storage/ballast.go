package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A root keeps a ballast file: space that nobody uses. The floor of free space
// (Options.MinFreeBytes) holds back what this engine writes; the ballast is for
// the rest, other programs and what was begun above the floor. When a root comes
// to the last of its space, or Pebble finds none, the ballast goes, so that
// Pebble can go on; it is made again when there is room for it above the floor
// (docs/protocol.md, H41).

const (
	ballastFile  = "BALLAST"
	ballastMagic = "dorisgo ballast, format 1\nbytes "
	// ballastMax bounds the default size, which is a hundredth of the disk.
	ballastMax = int64(1 << 30)
	// spaceEvery is how often the free space of roots is looked at.
	spaceEvery = time.Second
)

// ballast is a root's.
type ballast struct {
	mu sync.Mutex // held while the file is made or removed
	// want is the size that it should have in bytes, 0 for none.
	want int64
	// held is the size that it has, 0 while it is gone.
	held  atomic.Int64
	drops atomic.Int64
	// refused counts writes that were refused for lack of space.
	refused atomic.Int64
}

// owed is the space that the ballast takes once it is made again.
func (b *ballast) owed() int64 { return b.want - b.held.Load() }

// lowWater is the free space at which the ballast goes: a quarter of the floor,
// below which nothing but publishes is written.
func (e *Engine) lowWater(r *root) int64 { return max(e.opts.MinFreeBytes/4, r.ballast.want/8) }

// openBallast finds a root's ballast before Pebble is opened, which may need
// what it takes.
func (e *Engine) openBallast(r *root) error {
	usage, err := r.fs.GetDiskUsage(r.path)
	if errors.Is(err, vfs.ErrUnsupported) || e.opts.MinFreeBytes < 0 || e.opts.BallastBytes < 0 {
		return r.removeBallast() // of an earlier configuration
	}
	if err != nil {
		return fmt.Errorf("cannot ask for its free space: %w", err)
	}
	r.ballast.want = e.opts.BallastBytes
	if r.ballast.want == 0 {
		r.ballast.want = min(ballastMax, int64(usage.TotalBytes/100))
	}
	have, err := r.ballastSize()
	if err != nil {
		return err
	}
	if have != r.ballast.want {
		return r.removeBallast() // it is made anew
	}
	r.ballast.held.Store(have)
	e.keepBallast(r)
	return nil
}

// keepBallast removes or makes a root's ballast as its free space wants it. An
// error is logged: the root works without one.
func (e *Engine) keepBallast(r *root) {
	b := &r.ballast
	if b.want == 0 || r.err() != nil {
		return
	}
	usage, err := r.fs.GetDiskUsage(r.path)
	if err != nil {
		return
	}
	free := int64(min(usage.AvailBytes, 1<<62))
	switch held := b.held.Load(); {
	case held > 0 && free < e.lowWater(r):
		r.dropBallast(fmt.Sprintf("%d MB are free", free>>20))
	case held == 0 && free >= b.want+e.opts.MinFreeBytes+e.opts.MinFreeBytes/8:
		if err := r.makeBallast(); err != nil {
			r.log.Warn("cannot make the ballast file of a storage root", "root", r.path, "err", err)
		}
	}
}

// dropBallast gives the ballast's space to whoever needs it now.
func (r *root) dropBallast(why string) {
	b := &r.ballast
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held.Load() == 0 {
		return
	}
	if err := r.removeBallast(); err != nil {
		r.log.Error("cannot remove the ballast file of a storage root", "root", r.path, "err", err)
		return
	}
	b.drops.Add(1)
	r.log.Error("storage root runs out of space: its ballast file is removed, loads into it are refused until there is room again",
		"root", r.path, "bytes", b.want, "why", why)
}

func (r *root) ballastPath() string { return r.fs.PathJoin(r.path, ballastFile) }

func (r *root) removeBallast() error {
	r.ballast.held.Store(0)
	if err := r.fs.Remove(r.ballastPath()); err != nil && !isNotExist(err) {
		return err
	}
	return nil
}

// makeBallast reserves the space and then says in the file how much it is. It
// takes real space: a file system that cannot reserve any is written to.
func (r *root) makeBallast() (err error) {
	b := &r.ballast
	b.mu.Lock()
	defer b.mu.Unlock()
	f, err := r.fs.Create(r.ballastPath(), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.removeBallast())
		}
	}()
	if f.Preallocate(0, b.want) != nil {
		err = writeNoise(f, b.want)
	}
	if err == nil {
		_, err = f.WriteAt(fmt.Appendf(nil, "%s%d\n", ballastMagic, b.want), 0)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	b.held.Store(b.want)
	r.log.Info("storage root has its ballast file", "root", r.path, "bytes", b.want)
	return nil
}

// writeNoise writes what no file system can compress.
func writeNoise(w io.Writer, n int64) error {
	buf := make([]byte, 1<<20)
	x := uint64(0x9e3779b97f4a7c15)
	for n > 0 {
		for i := range buf {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			buf[i] = byte(x)
		}
		m := min(n, int64(len(buf)))
		if _, err := w.Write(buf[:m]); err != nil {
			return err
		}
		n -= m
	}
	return nil
}

// ballastSize is what the root's file says that it takes, 0 if there is none or
// its making was cut off.
func (r *root) ballastSize() (int64, error) {
	f, err := r.fs.Open(r.ballastPath())
	if isNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	head := make([]byte, len(ballastMagic)+20)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return 0, err
	}
	var size int64
	if _, err := fmt.Sscanf(string(head[:n]), ballastMagic+"%d\n", &size); err != nil {
		return 0, nil //nolint:nilerr // a file that was not finished
	}
	return size, nil
}

// runSpace looks after the ballast files.
func (e *Engine) runSpace(ctx context.Context) error {
	for {
		for _, r := range e.roots {
			e.keepBallast(r)
		}
		if !sleep(ctx, spaceEvery) {
			return nil
		}
	}
}

// DiskInfo describes the disk of a storage root.
type DiskInfo struct {
	Path      string
	InService bool
	// Total and Avail are the file system's bytes, 0 if it cannot tell.
	Total, Avail uint64
	// Ballast is the size of the ballast file, 0 while there is none; BallastDrops
	// counts how often it was given up, Refused the writes that were refused for
	// lack of space, both since the start.
	Ballast, BallastDrops, Refused int64
}

// Disks describes the disks of the storage roots, in the order of Options.
func (e *Engine) Disks() []DiskInfo {
	out := make([]DiskInfo, len(e.roots))
	for i, r := range e.roots {
		out[i] = DiskInfo{
			Path: r.path, InService: r.err() == nil,
			Ballast: r.ballast.held.Load(), BallastDrops: r.ballast.drops.Load(), Refused: r.ballast.refused.Load(),
		}
		if !out[i].InService {
			continue
		}
		if u, err := r.fs.GetDiskUsage(r.path); err == nil {
			out[i].Total, out[i].Avail = u.TotalBytes, u.AvailBytes
		}
	}
	return out
}
