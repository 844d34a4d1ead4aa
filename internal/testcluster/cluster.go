package testcluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/be"
	"dorisgo/duck"
	"dorisgo/fe"
	"dorisgo/fe/exec"
	"dorisgo/groupcommit"
	"dorisgo/raftfsm"
	"dorisgo/rpc/peer"
	"dorisgo/storage"
	"dorisgo/tabletsched"
)

// Options are what a cluster is made of.
type Options struct {
	// Dir takes the backends' directories.
	Dir       string
	Frontends int
	Backends  int
	// Roots is how many storage roots a backend has, 1 by default; FS is their
	// disk, by default the real one.
	Roots         int
	FS            func(backend int) vfs.FS
	Logger        *slog.Logger // nil discards
	GroupCommit   groupcommit.Options
	DefaultLimits exec.Limits
}

// Cluster is a running cluster. Its methods are for one goroutine.
type Cluster struct {
	opts  Options
	pipes peer.Pipes
	pool  *peer.Pool
	// FEs are the frontends; the first one leads unless it is stopped.
	FEs []*Frontend
	// BEs are the backends in the order of their ids.
	BEs []*Backend
	// port is the last one that was given to a pipe.
	port int
}

// Frontend is a frontend; Node is nil while it is stopped.
type Frontend struct {
	Node *fe.Node
	// MySQL is the address for clients, RPC that for nodes.
	MySQL, RPC string
}

// Backend is a backend; Node is nil while it is stopped.
type Backend struct {
	Node *be.Node
	// Roots are the storage roots to start with, AcceptLoss the UUIDs of those
	// whose loss is accepted.
	Roots      []string
	AcceptLoss []string

	dir  string
	beat int
	rpc  *freezer
}

// host is the name of every node; only MySQL listens on it.
const host = "127.0.0.1"

// heartbeat is the pause between heartbeats, deadAfter the silence after which
// a backend counts as dead.
const (
	heartbeat = 50 * time.Millisecond
	deadAfter = 500 * time.Millisecond
)

// schedulerLimits are those of a cluster whose times are short.
func schedulerLimits() tabletsched.Limits {
	l := tabletsched.DefaultLimits()
	l.HoleDelayMs, l.RepairDelayMs = 100, 2000
	return l
}

// Start starts a cluster. ctx bounds the start. On an error nothing stays.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.DefaultLimits == (exec.Limits{}) {
		o.DefaultLimits = exec.Limits{ReplicationNum: 1, IntervalMs: 100, DataBytes: 64 << 20, MaxBuckets: 768}
	}
	c := &Cluster{opts: o, port: 20000}
	c.pool = peer.NewPool("token", &c.pipes)
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	for range c.opts.Frontends {
		if err := c.addFrontend(ctx); err != nil {
			return err
		}
	}
	for range c.opts.Backends {
		if err := c.addBackend(ctx); err != nil {
			return err
		}
	}
	return nil
}

func listen(ctx context.Context) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
}

// pipe makes an in-process address that was never used.
func (c *Cluster) pipe() (l net.Listener, port int) {
	c.port++
	return c.pipes.Listen(net.JoinHostPort(host, strconv.Itoa(c.port))), c.port
}

// addFrontend starts one more frontend: the first makes the cluster, the others
// join it as voters.
func (c *Cluster) addFrontend(ctx context.Context) error {
	raft, err := listen(ctx)
	if err != nil {
		return err
	}
	mysql, err := listen(ctx)
	if err != nil {
		return errors.Join(err, raft.Close())
	}
	rpc, port := c.pipe()
	addr := raft.Addr().String()
	rc := raftfsm.DefaultConfig()
	rc.InMemory, rc.ServerID, rc.Bootstrap = true, "fe"+strconv.Itoa(len(c.FEs)), len(c.FEs) == 0
	rc.Stream = raftfsm.NewStream(raft, addr, nil)
	joined := make(chan error, 1)
	if len(c.FEs) == 0 {
		joined <- nil
	} else {
		go func() { joined <- c.FEs[0].Node.Raft.AddVoter(ctx, rc.ServerID, addr) }()
	}
	n, err := fe.Start(ctx, fe.Config{
		Raft: rc, RaftAddr: addr, Host: host, RPC: rpc, RPCPort: port, MySQL: mysql, Pool: c.pool, Token: "token", Version: "test",
		Logger: c.opts.Logger.With("node", rc.ServerID), Settings: noSettings{}, Limits: func() exec.Limits { return c.opts.DefaultLimits },
		Heartbeat: heartbeat, DeadAfter: deadAfter, LookEvery: heartbeat, Scheduler: schedulerLimits,
	})
	if err := errors.Join(err, <-joined); err != nil {
		return fmt.Errorf("frontend %d: %w", len(c.FEs), err)
	}
	c.FEs = append(c.FEs, &Frontend{Node: n, MySQL: mysql.Addr().String(), RPC: net.JoinHostPort(host, strconv.Itoa(port))})
	return nil
}

func (c *Cluster) addBackend(ctx context.Context) error {
	b := &Backend{dir: filepath.Join(c.opts.Dir, "be"+strconv.Itoa(len(c.BEs))), beat: 9050 + len(c.BEs)}
	for i := range max(c.opts.Roots, 1) {
		root := "storage"
		if i > 0 {
			root += strconv.Itoa(i + 1)
		}
		b.Roots = append(b.Roots, filepath.Join(b.dir, root))
	}
	for _, d := range append([]string{filepath.Join(b.dir, "wal")}, b.Roots...) {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	c.BEs = append(c.BEs, b)
	return c.StartBackend(ctx, len(c.BEs)-1)
}

// StartBackend starts a stopped backend on its directories.
func (c *Cluster) StartBackend(ctx context.Context, i int) (err error) {
	b := c.BEs[i]
	var fes []string
	for _, f := range c.FEs {
		fes = append(fes, f.RPC)
	}
	rpc, port := c.pipe()
	b.rpc = &freezer{Listener: rpc}
	var fs vfs.FS
	if c.opts.FS != nil {
		fs = c.opts.FS(i)
	}
	b.Node, err = be.Start(ctx, be.Config{
		FS: fs, AcceptLoss: b.AcceptLoss, Roots: b.Roots, WALDirs: []string{filepath.Join(b.dir, "wal")}, Host: host, HeartbeatPort: b.beat,
		RPC: b.rpc, RPCPort: port, Leader: peer.NewLeader(c.pool, fes), Pool: c.pool, Token: "token", Version: "test",
		Logger: c.opts.Logger.With("node", "be"+strconv.Itoa(i)), Groups: c.opts.GroupCommit, Heartbeat: heartbeat,
		Storage: storage.Options{MinFreeBytes: -1},
		Duck:    duck.Options{Dirs: b.Roots, TempDir: filepath.Join(b.dir, "tmp"), MemoryLimitBytes: 256 << 20, Threads: 1},
	})
	if err != nil {
		return fmt.Errorf("backend %d: %w", i, err)
	}
	return nil
}

// StopBackend stops a backend in order; ctx bounds it.
func (c *Cluster) StopBackend(ctx context.Context, i int) error {
	b := c.BEs[i]
	if b.Node == nil {
		return nil
	}
	n := b.Node
	b.Node = nil
	return n.Stop(ctx)
}

// KillBackend ends a backend without committing anything: open groups stay in
// their WALs.
func (c *Cluster) KillBackend(i int) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.StopBackend(ctx, i) // it says that something is left, as it should
}

// FreezeBackend makes a backend answer nobody any more, or again. It goes on to
// send heartbeats.
func (c *Cluster) FreezeBackend(i int, frozen bool) {
	if frozen {
		c.BEs[i].rpc.freeze()
	} else {
		c.BEs[i].rpc.unfreeze()
	}
}

// StopFrontend stops a frontend for good; ctx bounds it.
func (c *Cluster) StopFrontend(ctx context.Context, i int) error {
	f := c.FEs[i]
	if f.Node == nil {
		return nil
	}
	n := f.Node
	f.Node = nil
	return n.Stop(ctx)
}

// Stop stops every node, backends first; ctx bounds each.
func (c *Cluster) Stop(ctx context.Context) error {
	var errs []error
	for i := range c.BEs {
		errs = append(errs, c.StopBackend(ctx, i))
	}
	for i := len(c.FEs) - 1; i >= 0; i-- {
		errs = append(errs, c.StopFrontend(ctx, i))
	}
	c.pool.Close()
	return errors.Join(errs...)
}

// noSettings are an FE's configuration keys: none.
type noSettings struct{}

// List implements exec.Settings.
func (noSettings) List() [][2]string { return nil }

// Set implements exec.Settings.
func (noSettings) Set(key, _ string) error { return fmt.Errorf("unknown configuration key %q", key) }
