package replicatest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/meta"
	"dorisgo/meta/txn"
)

// stop ends a backend's life; it may stay away.
func (c *cluster) stop(b *backend) {
	if b.down {
		return
	}
	b.crash(nil, unchanged)
	c.count("crash")
	c.note("backend %d: crash", b.id)
	switch c.rng.IntN(3) {
	case 0:
		b.register()
	case 1:
		c.do(&meta.SetBackendAlive{ID: b.id, BootEpoch: b.boot})
	}
}

// start brings one of those back that are away.
func (c *cluster) start() {
	for _, b := range c.bes {
		if b.down && b.away == 0 {
			b.register()
			return
		}
	}
}

// leave takes a backend away for long enough to fall behind the log.
func (c *cluster) leave(b *backend) {
	if slices.ContainsFunc(c.bes, func(o *backend) bool { return o.away > 0 }) {
		return
	}
	if !b.down {
		b.crash(nil, unchanged)
	}
	b.away = 100 + c.rng.IntN(100)
	c.do(&meta.SetBackendAlive{ID: b.id, BootEpoch: b.boot})
	c.count("backend away for long")
	c.note("backend %d: leaves", b.id)
}

// spare reports whether a tablet has another replica that counts and has all that
// is committed, and none that is damaged: then one may lose what it has.
func (c *cluster) spare(b *backend, partition, tablet int64) bool {
	spare := false
	for _, p := range c.places(nil) {
		if p.tablet != tablet || p.BackendID == b.id {
			continue
		}
		o := c.backend(p.BackendID)
		if o.damaged[tablet] {
			return false
		}
		// What the log knows to be missing may be pending there, and of no use.
		spare = spare || !p.Cloning && c.st.FirstMissing(partition, tablet, o.id) == 0 && c.holds(o, p, c.model.last(partition))
	}
	return spare
}

// lose takes one of a backend's storage roots away, and the operator accepts it.
func (c *cluster) lose() {
	b := pick(c, c.bes)
	if b.away > 0 {
		return
	}
	for _, p := range c.places(b) {
		if !c.spare(b, p.partition, p.tablet) {
			return
		}
	}
	i := c.rng.IntN(len(b.roots))
	uuid := b.e.Roots()[i].UUID.String()
	b.crash(nil, func(mem *vfs.MemFS) { c.must(mem.RemoveAll(b.roots[i].Path), "lose a root") })
	left := b.e.Replicas()
	for tablet := range b.damaged {
		if !slices.ContainsFunc(left, func(r replicaInfo) bool { return r.TabletID == tablet }) {
			delete(b.damaged, tablet)
		}
	}
	b.register(uuid)
	c.count("lost disk")
	c.note("backend %d: root %d is lost", b.id, i)
}

// forgetWrites has coordinators know that a disk spoiled what they wrote: nobody
// looks at it again between the write and the commit.
func (c *cluster) forgetWrites(b *backend) {
	for _, l := range c.loads {
		l.failed[b.id] = true
	}
}

// damage changes or removes a file, or changes inline data.
func (c *cluster) damage() {
	b := pick(c, c.bes)
	places := c.places(b)
	if len(places) == 0 {
		return
	}
	p := pick(c, places)
	if !c.spare(b, p.partition, p.tablet) || slices.ContainsFunc(c.undecided(), func(l *load) bool {
		return l.tablets[p.tablet] != nil && c.st.Txn(l.id).State == txn.Precommitted // nobody scrubs what is pending
	}) {
		return
	}
	root := pick(c, b.roots).Path
	if c.rng.IntN(2) == 0 {
		c.damageFile(b, p.tablet, b.disk.mem.PathJoin(root, "data", fmt.Sprint(p.tablet)))
		return
	}
	wasDown := b.down
	b.crash(nil, func(mem *vfs.MemFS) {
		hit, err := spoilValue(mem, mem.PathJoin(root, "meta"), p.tablet, c.rng.IntN(8))
		c.must(err, "damage")
		if hit {
			b.damaged[p.tablet] = true
			c.forgetWrites(b)
			c.count("damaged value")
			c.note("backend %d: a value of tablet %d is damaged", b.id, p.tablet)
		}
	})
	if !wasDown {
		b.register()
	}
}

func (c *cluster) damageFile(b *backend, tablet int64, dir string) {
	fs := b.disk.mem
	names, err := fs.List(dir)
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasSuffix(n, ".parquet") })
	if err != nil || len(names) == 0 {
		return
	}
	slices.Sort(names)
	path := fs.PathJoin(dir, pick(c, names))
	b.damaged[tablet] = true
	c.forgetWrites(b)
	c.count("damaged file")
	c.note("backend %d: %s is damaged", b.id, path)
	if c.rng.IntN(2) == 0 {
		c.must(fs.Remove(path), "damage")
	} else {
		data, err := readFile(fs, path)
		c.must(err, "damage")
		data[len(data)/2] ^= 1
		c.must(writeFile(fs, path, data), "damage")
	}
	d, err := fs.OpenDir(dir)
	c.must(err, "damage")
	c.must(errors.Join(d.Sync(), d.Close()), "damage")
}

// spoilValue changes a bit of a tablet's inline data, in a Pebble that is closed.
func spoilValue(mem *vfs.MemFS, dir string, tablet int64, skip int) (hit bool, err error) {
	db, err := pebble.Open(dir, &pebble.Options{FS: mem, ErrorIfNotExists: true, Logger: silent{}})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	prefix := append([]byte{'d'}, be64(tablet)...)
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: append([]byte{'d'}, be64(tablet+1)...)})
	if err != nil {
		return false, err
	}
	var k, v []byte
	for it.First(); it.Valid(); it.Next() {
		k, v = slices.Clone(it.Key()), slices.Clone(it.Value())
		if skip--; skip < 0 {
			break
		}
	}
	if err := it.Close(); err != nil || k == nil {
		return false, err
	}
	v[len(v)/2] ^= 1
	return true, db.Set(k, v, pebble.Sync)
}

func be64(n int64) []byte {
	return []byte{byte(n >> 56), byte(n >> 48), byte(n >> 40), byte(n >> 32), byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
}

type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(string, ...any) {}
