package replicatest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/be/rpc"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
	"dorisgo/storage"
	"dorisgo/storage/storagetest"
)

// backend is a BE: its disk, its engine and the server of its gRPC calls.
type backend struct {
	c     *cluster
	n     int
	id    int64
	boot  uint64
	roots []storage.Root
	lives int
	disk  *disk
	e     *storage.Engine
	srv   *rpc.Server
	peers *rpc.Peers
	// down says that it gets no call; its engine is there to be asked.
	down bool
	// through is what the publisher knows that it confirmed.
	through map[int64]int64
	readers []*reader
	// damaged are tablets whose data were changed on purpose.
	damaged map[int64]bool
	// acked are the rowsets that it said it stored, with the replica they were for.
	acked map[[16]byte]int64
	// away counts the steps until it may come back.
	away int
	// chunk is called before each chunk of a clone that this backend fetches.
	chunk func(last bool) error
}

func (c *cluster) newBackend(n int) *backend {
	b := &backend{c: c, n: n, through: map[int64]int64{}, damaged: map[int64]bool{}, acked: map[[16]byte]int64{}}
	for i := range 1 + n%2 {
		b.roots = append(b.roots, storage.Root{Path: fmt.Sprintf("/r%d", i)})
	}
	c.must(b.open(vfs.NewCrashableMem()), "first start")
	b.register()
	return b
}

// options are those of a life of a backend on a disk.
func (b *backend) options(fs vfs.FS) storage.Options {
	b.lives++
	return storage.Options{
		FS: fs, Roots: b.roots, Codec: storagetest.Codec{FS: fs}, Rand: newRand(b.c.seed, uint64(b.n), uint64(b.lives)),
		Now: func() time.Time { return b.c.now }, MemTableBytes: 128 << 10, CacheBytes: 256 << 10, MinFreeBytes: -1,
		InlineLimitBytes: 1 << 10, InlineBatchBytes: 3 << 10, CompactMinFiles: 2, StaleSweep: time.Minute, KeepEntries: keepEntries,
		Fatal: func(root, msg string) { b.c.note("FATAL %s: %s", root, msg) },
	}
}

// open starts an engine on a disk.
func (b *backend) open(mem *vfs.MemFS) error {
	d := newDisk(mem)
	e, err := storage.Open(b.c.ctx, b.options(d.fs()))
	if err != nil {
		return err
	}
	b.disk, b.e = d, e
	b.srv = &rpc.Server{Engine: e, Fetch: b.fetch, Logger: slog.New(slog.DiscardHandler)}
	b.peers = &rpc.Peers{Self: b.n0(), Engine: e}
	return nil
}

// n0 is the id under which the backend reaches itself.
func (b *backend) n0() int64 { return -1 }

// register begins a life in the log.
func (b *backend) register(acceptLoss ...string) {
	r := &meta.RegisterBackend{
		UUID: fmt.Sprint("be", b.n), Host: fmt.Sprint("h", b.n), HeartbeatPort: 9050, WALsReported: true, AcceptLoss: acceptLoss,
	}
	for _, root := range b.e.Roots() {
		r.Dirs = append(r.Dirs, meta.BackendDir{UUID: root.UUID.String(), Path: root.Path})
		r.LastBootEpoch = max(r.LastBootEpoch, root.BootEpoch)
	}
	if len(acceptLoss) > 0 {
		for _, x := range b.e.Replicas() {
			r.Replicas = append(r.Replicas, x.ReplicaID)
		}
	}
	res := b.c.do(r)
	b.id, b.boot, b.down = res.ID, res.BootEpoch, false
	b.c.must(b.e.SetBootEpoch(b.c.ctx, b.boot), "boot epoch")
	clear(b.through)
}

// crash ends the backend's life: what is left of its disk is opened anew. The
// next life begins when it registers.
func (b *backend) crash(p *picture, change func(*vfs.MemFS)) {
	if p == nil {
		p = b.disk.now()
	}
	b.closeReaders(false)
	old := b.e
	mem, err := p.after(b.c.rng)
	b.c.must(err, "crash")
	change(mem)
	b.c.must(old.Close(), "close")
	b.c.must(b.open(mem), fmt.Sprintf("start of backend %d after a crash", b.id))
	b.down = true
}

func unchanged(*vfs.MemFS) {}

// cut does something that a power failure may cut off; done says that it did not.
func (b *backend) cut(f func()) (done bool) {
	if b.c.one(25) {
		b.disk.arm(1 + b.c.rng.IntN(12))
	}
	f()
	if p := b.disk.disarm(); p != nil {
		b.c.count("cut off by a crash")
		b.c.note("backend %d: cut off", b.id)
		b.crash(p, unchanged)
		b.register()
		return false
	}
	return true
}

func (b *backend) close() error {
	b.closeReaders(false)
	return b.e.Close()
}

// fetch implements the Fetch of a server: what the source sends is taken at once.
func (b *backend) fetch(ctx context.Context, source int64, r *bepb.FetchTabletRequest) (bepb.Backend_FetchTabletClient, error) {
	src := b.c.backend(source)
	if src.down || src.e.PublishedVersion(r.PartitionId) < r.Version {
		return nil, doriserr.New(doriserr.VersionGone, "the source is not there yet")
	}
	out := &fetchServer{ctx: ctx, b: src, tablet: r.TabletId}
	if err := src.srv.FetchTablet(r, out); err != nil {
		return nil, err
	}
	return &fetchClient{b: b, chunks: b.c.spoilPlan(out.chunks)}, nil
}

type fetchServer struct {
	bepb.Backend_FetchTabletServer
	ctx    context.Context
	b      *backend
	tablet int64
	chunks []*bepb.FetchTabletChunk
}

// Context implements grpc.ServerStream.
func (s *fetchServer) Context() context.Context { return s.ctx }

// Send implements the stream; the source's work goes on meanwhile.
func (s *fetchServer) Send(chunk *bepb.FetchTabletChunk) error {
	s.chunks = append(s.chunks, chunk)
	if s.b.c.one(4) {
		s.b.work(s.tablet)
	}
	return nil
}

type fetchClient struct {
	bepb.Backend_FetchTabletClient
	b      *backend
	chunks []*bepb.FetchTabletChunk
}

// Recv implements the stream.
func (s *fetchClient) Recv() (*bepb.FetchTabletChunk, error) {
	if s.b.chunk != nil {
		if err := s.b.chunk(len(s.chunks) == 0); err != nil {
			return nil, err
		}
	}
	if len(s.chunks) == 0 {
		return nil, io.EOF
	}
	next := s.chunks[0]
	s.chunks = s.chunks[1:]
	return next, nil
}

// work is what a backend does in the background with a tablet.
func (b *backend) work(tablet int64) {
	ctx := b.c.ctx
	switch b.c.rng.IntN(5) {
	case 0, 1:
		b.mayBeDamaged(b.e.Flush(ctx, tablet), "flush")
	case 2:
		_, err := b.e.Compact(ctx, tablet)
		b.mayBeDamaged(err, "compact")
	case 3:
		b.c.now = b.c.now.Add(time.Duration(b.c.rng.IntN(50)) * time.Second)
		b.c.must(errors.Join(b.e.Sweep(ctx), b.e.Trash(ctx), b.e.TrimEntries()), "sweep")
		b.c.unlink(b)
	default:
		b.c.must(b.e.SyncPublished(ctx), "sync")
	}
}

// mayBeDamaged allows an error that says that data are damaged, if they are.
func (b *backend) mayBeDamaged(err error, what string) {
	if err != nil && (len(b.damaged) == 0 || !doriserr.Is(err, doriserr.Corrupt) && !doriserr.Is(err, doriserr.VersionGone)) {
		b.c.must(err, what)
	}
}

// lockedRand is a deterministic source of ids.
type lockedRand struct {
	mu sync.Mutex
	r  *rand.ChaCha8
}

func newRand(words ...uint64) io.Reader {
	var s [32]byte
	for i, w := range words {
		binary.LittleEndian.PutUint64(s[8*i:], w)
	}
	return &lockedRand{r: rand.NewChaCha8(s)}
}

// Read implements io.Reader.
func (l *lockedRand) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(p)
}
