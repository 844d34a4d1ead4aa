package replicatest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// disk is a backend's disk, which can be looked at as a power failure would leave
// it.
type disk struct {
	mem  *vfs.MemFS
	gate sync.RWMutex

	mu sync.Mutex
	// left counts the changes until the power fails; 0 if it does not.
	left int
	cut  *picture
}

// picture is what is left for sure, and what there was.
type picture struct{ synced, all *vfs.MemFS }

func newDisk(mem *vfs.MemFS) *disk { return &disk{mem: mem} }

// fs is the disk as an engine gets it.
func (d *disk) fs() vfs.FS {
	return errorfs.Wrap(gateFS{d.mem, &d.gate}, errorfs.InjectorFunc(d.before))
}

// arm has the power fail before the n-th change from now on.
func (d *disk) arm(n int) {
	d.mu.Lock()
	d.left, d.cut = n, nil
	d.mu.Unlock()
}

// disarm returns what an armed power failure left, nil if it did not come.
func (d *disk) disarm() *picture {
	d.mu.Lock()
	defer d.mu.Unlock()
	cut := d.cut
	d.left, d.cut = 0, nil
	return cut
}

func (d *disk) before(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead || op.Kind == errorfs.OpFileClose || op.Kind == errorfs.OpFilePreallocate {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		return nil
	}
	if d.left--; d.left == 0 {
		d.cut = d.now()
	}
	return nil
}

// now is the disk as it is.
func (d *disk) now() *picture {
	d.gate.Lock()
	defer d.gate.Unlock()
	return &picture{
		d.mem.CrashClone(vfs.CrashCloneCfg{}),
		d.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}),
	}
}

// after is a disk after the power failure: of each directory the names that were
// not synced are there or not, as journals do it, and of each file any blocks.
func (p *picture) after(rng *rand.Rand) (*vfs.MemFS, error) {
	switch rng.IntN(4) {
	case 0:
		return p.synced, nil
	case 1:
		return p.all, nil
	}
	out := vfs.NewCrashableMem()
	return out, p.mix(rng, out, "/")
}

func (p *picture) mix(rng *rand.Rand, out *vfs.MemFS, dir string) error {
	from := p.synced
	if rng.IntN(2) == 0 && isDir(p.all, dir) || !isDir(p.synced, dir) {
		from = p.all
	}
	names, err := from.List(dir)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		path := out.PathJoin(dir, name)
		if isDir(from, path) {
			if err := out.MkdirAll(path, 0o755); err != nil {
				return err
			}
			if err := p.mix(rng, out, path); err != nil {
				return err
			}
			continue
		}
		data, err := readFile(from, path)
		if err != nil {
			return err
		}
		synced, err1 := readFile(p.synced, path)
		if all, err2 := readFile(p.all, path); err1 == nil && err2 == nil && bytes.HasPrefix(all, synced) {
			data = someBlocks(rng, synced, all)
		}
		if err := writeFile(out, path, data); err != nil {
			return err
		}
	}
	d, err := out.OpenDir(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// someBlocks is a file whose end was not synced.
func someBlocks(rng *rand.Rand, synced, all []byte) []byte {
	const block = 4096
	data := slices.Clone(synced)
	for i := 0; i < len(all); i += block {
		end := min(i+block, len(all))
		if end <= len(synced) || rng.IntN(2) == 0 {
			continue
		}
		if end > len(data) {
			data = append(data, make([]byte, end-len(data))...)
		}
		copy(data[i:end], all[i:end])
	}
	return data
}

func isDir(fs vfs.FS, path string) bool {
	info, err := fs.Stat(path)
	return err == nil && info.IsDir()
}

func readFile(fs vfs.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// writeFile makes a file that survives once its directory is synced.
func writeFile(fs vfs.FS, path string, data []byte) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(slices.Clone(data)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Sync()
}

// gateFS keeps CrashClone away from the two calls that take MemFS' clone lock
// twice, and would wait for ever if it came in between.
type gateFS struct {
	*vfs.MemFS
	gate *sync.RWMutex
}

// Lock implements vfs.FS.
func (g gateFS) Lock(name string) (io.Closer, error) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	return g.MemFS.Lock(name)
}

// ReuseForWrite implements vfs.FS.
func (g gateFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	return g.MemFS.ReuseForWrite(oldname, newname, c)
}
