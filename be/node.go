package be

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/be/catalog"
	bemetrics "dorisgo/be/metrics"
	berpc "dorisgo/be/rpc"
	"dorisgo/be/sink"
	"dorisgo/doriserr"
	"dorisgo/duck"
	"dorisgo/groupcommit"
	"dorisgo/groupcommit/wal"
	"dorisgo/query/exec"
	"dorisgo/rpc/fepb"
	"dorisgo/rpc/peer"
	"dorisgo/storage"
)

// Config is what a Node is started with.
type Config struct {
	// FS is the disk of roots and WALs; Parquet files need the real one.
	FS vfs.FS
	// Roots are the storage roots, WALDirs the directories of the WAL.
	Roots, WALDirs []string
	// Host is the name that FEs and other BEs dial; clients are redirected to
	// it too.
	Host string
	// HeartbeatPort is the port that operators name the BE by.
	HeartbeatPort int
	// RPC and HTTP are the listeners; RPC may be an in-process pipe, which
	// RPCPort then names.
	RPC     net.Listener
	RPCPort int
	HTTP    net.Listener
	// Leader reaches the FEs, Pool the other nodes.
	Leader *peer.Leader
	Pool   *peer.Pool
	// Token is the cluster's.
	Token      string
	AcceptLoss []string
	Version    string
	Logger     *slog.Logger

	WAL         wal.Options
	Groups      groupcommit.Options
	Storage     storage.Options
	Duck        duck.Options
	FlushMemory int64
	LoadMemory  int64
	Heartbeat   time.Duration
	// WaitGroups is wait_internal_group_commit_finish; nil is false.
	WaitGroups func() bool
	// NewHTTP makes the HTTP handler over the node.
	NewHTTP func(n *Node) (http.Handler, error)
}

// Node is one life of a backend.
type Node struct {
	cfg     Config
	log     *slog.Logger
	ID      int64
	Epoch   uint64
	Catalog *catalog.Catalog
	Engine  *storage.Engine
	WALs    *wal.Manager
	Groups  *groupcommit.Manager
	Metrics *bemetrics.Metrics

	// Expressions evaluates the expressions of loads.
	Expressions *exec.Expressions

	queries, flushes *duck.DB
	loads            *loads
	sink             *sink.Sink
	rpc              *peer.Server
	http             *http.Server
	identity         identity
	records          records
	// stopping is closed when Stop begins: FEs' loads are admitted no more.
	// inflight are those that were, requests the HTTP requests under way.
	stopping           chan struct{}
	inflight, requests busy

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	failed chan error
}

// Start opens the directories, registers with the FE and serves. ctx bounds the
// start alone. On an error nothing stays open.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	n := newNode(cfg)
	err := n.openEngines()
	if err == nil {
		err = n.begin(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func newNode(cfg Config) *Node {
	if cfg.FS == nil {
		cfg.FS = vfs.Default
	}
	if cfg.Heartbeat <= 0 {
		cfg.Heartbeat = time.Second
	}
	if cfg.WaitGroups == nil {
		cfg.WaitGroups = func() bool { return false }
	}
	n := &Node{cfg: cfg, log: cfg.Logger, Catalog: catalog.New(), failed: make(chan error, 1), stopping: make(chan struct{})}
	n.cfg.Duck.Logger, n.cfg.WAL.Logger, n.cfg.Storage.Logger = n.log, n.log, n.log
	n.Expressions = exec.NewExpressions(n.openLoadEngine)
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// begin is Start without DuckDB.
func (n *Node) begin(ctx context.Context) error {
	if err := n.open(ctx); err != nil {
		return err
	}
	found, err := n.WALs.Scan(ctx)
	if err != nil {
		return fmt.Errorf("cannot look through the WAL directories: %w", err)
	}
	if err := n.register(ctx, found); err != nil {
		return err
	}
	n.wg.Go(func() { n.Catalog.Follow(n.ctx, n.cfg.Leader, n.ID, n.log) })
	if err := n.Catalog.Wait(ctx, 0); err != nil {
		return err
	}
	return n.serve()
}

// scans is how many scans for other BEs run beside the statements that are
// coordinated here.
const scans = 4

// statements is how many statements are coordinated here at the same time.
func statements(o duck.Options) int {
	if o.MaxConcurrent <= 0 {
		return 8
	}
	return o.MaxConcurrent
}

// openEngines opens DuckDB, one instance for queries and one for flushes.
func (n *Node) openEngines() (err error) {
	queries := n.cfg.Duck
	queries.MaxConcurrent = statements(n.cfg.Duck) + scans
	if n.queries, err = duck.Open(queries); err != nil {
		return fmt.Errorf("cannot open the query engine: %w", err)
	}
	flush := n.cfg.Duck
	// A flush, a compaction and the files of two large loads, a thread each.
	flush.MaxConcurrent, flush.Threads = 4, 1
	if n.cfg.FlushMemory > 0 {
		flush.MemoryLimitBytes = n.cfg.FlushMemory
	}
	if n.flushes, err = duck.Open(flush); err != nil {
		return fmt.Errorf("cannot open the engine of flushes: %w", err)
	}
	return nil
}

// openLoadEngine opens the engine of loads with expressions, at the first one:
// they wait neither for queries nor for flushes.
func (n *Node) openLoadEngine() (*duck.DB, error) {
	o := n.cfg.Duck
	o.MaxConcurrent, o.Threads, o.Dirs = statements(n.cfg.Duck)+exec.ParquetReads, 1, []string{n.SpoolDir()}
	if n.cfg.LoadMemory > 0 {
		o.MemoryLimitBytes = n.cfg.LoadMemory
	}
	return duck.Open(o)
}

// open opens the storage and the WAL directories.
func (n *Node) open(ctx context.Context) (err error) {
	so := n.cfg.Storage
	so.FS = n.cfg.FS
	so.TimeSeries = newPolicies(n.Catalog).of
	if so.Codec == nil {
		so.Codec = parquet{n.flushes}
	}
	for _, r := range n.cfg.Roots {
		so.Roots = append(so.Roots, storage.Root{Path: r})
	}
	if n.Engine, err = storage.Open(ctx, so); err != nil {
		return fmt.Errorf("cannot open the storage: %w", err)
	}
	if n.WALs, err = wal.Open(n.cfg.FS, n.cfg.WALDirs, n.cfg.WAL); err != nil {
		return fmt.Errorf("cannot open the WAL directories: %w", err)
	}
	if n.identity, err = readIdentity(n.cfg.FS, n.cfg.Roots); err != nil {
		return err
	}
	return writeIdentity(n.cfg.FS, n.cfg.Roots, n.identity)
}

// register makes this life known to the FE and lets the directories remember
// it before anything is written under its boot epoch.
func (n *Node) register(ctx context.Context, found []wal.FileInfo) error {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return fmt.Errorf("cannot make a request id: %w", err)
	}
	r := &fepb.RegisterRequest{
		RequestId: id, Uuid: n.identity.UUID, Host: n.cfg.Host, HttpPort: int32(port(n.cfg.HTTP)), RpcPort: int32(n.cfg.RPCPort),
		HeartbeatPort: int32(n.cfg.HeartbeatPort), Version: n.cfg.Version, AcceptLoss: n.cfg.AcceptLoss, ClusterId: n.identity.ClusterID,
	}
	for _, d := range n.Engine.Roots() {
		r.Dirs = append(r.Dirs, &fepb.Dir{Uuid: d.UUID.String(), Path: d.Path})
		r.LastBootEpoch = max(r.LastBootEpoch, d.BootEpoch)
	}
	for _, d := range n.WALs.Dirs() {
		r.Dirs = append(r.Dirs, &fepb.Dir{Uuid: d.UUID, Path: d.Path, Wal: true})
		r.LastBootEpoch = max(r.LastBootEpoch, d.BootEpoch)
	}
	for _, f := range found {
		if f.TxnID != 0 && !neverUsed(n.WALs, f.Path) {
			r.Wals = append(r.Wals, f.TxnID)
		}
	}
	aside, err := setAside(n.cfg.FS, n.cfg.WALDirs)
	if err != nil {
		return fmt.Errorf("cannot look through the WAL files that were set aside: %w", err)
	}
	r.Wals = append(r.Wals, aside...)
	if len(n.cfg.AcceptLoss) > 0 {
		r.Replicas = replicaStates(n.Engine.Replicas())
	}
	var reply *fepb.RegisterReply
	n.log.Info("waiting for a frontend to register this backend", "frontend", n.cfg.Leader.Addr())
	err = n.cfg.Leader.Call(ctx, func(ctx context.Context, c fepb.FrontendClient) (err error) {
		reply, err = c.Register(ctx, r)
		return err
	})
	if err != nil {
		return fmt.Errorf("the frontend did not register this backend: %w", err)
	}
	n.ID, n.Epoch = reply.BackendId, reply.BootEpoch
	n.identity.ClusterID, n.identity.MetaEpoch = reply.ClusterId, reply.MetaEpoch
	if err := writeIdentity(n.cfg.FS, n.cfg.Roots, n.identity); err != nil {
		return err
	}
	if err := errors.Join(n.Engine.SetBootEpoch(ctx, n.Epoch), n.WALs.SetBootEpoch(n.Epoch)); err != nil {
		return err
	}
	return n.Engine.GiveUp(ctx, acceptedRoots(n.cfg.AcceptLoss))
}

// acceptedRoots are the UUIDs of storage roots among those that the operator
// gave; WAL directories have another form.
func acceptedRoots(list []string) (ids []storage.UUID) {
	for _, s := range list {
		if id, err := storage.ParseUUID(s); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// serve starts everything that answers.
func (n *Node) serve() error {
	cfg := n.cfg
	peers := &berpc.Peers{Self: n.ID, Engine: n.Engine, Catalog: n.Catalog, Pool: cfg.Pool}
	n.sink = sink.New(sink.Identity{BackendID: n.ID, BootEpoch: n.Epoch, Name: "BE: " + cfg.Host}, cfg.Leader, peers, n.log)
	n.Metrics = bemetrics.New(n.Engine, n.WALs)
	n.sink.Observe = n.Metrics.Step
	g := cfg.Groups
	g.WAL, g.Sink, g.Logger = n.WALs, sink.Groups{Sink: n.sink, Catalog: n.Catalog, TimeoutMultiplier: 10}, n.log
	g.ClusterID, g.MetaEpoch, g.BackendUUID, g.BackendID = n.identity.ClusterID, n.identity.MetaEpoch, n.identity.UUID, n.ID
	g.Events = n.Metrics.Events(n.log)
	var err error
	if n.Groups, err = groupcommit.New(g); err != nil {
		return err
	}
	n.Metrics.Watch(n.Groups)
	commitTime := g.CommitTimeout
	if commitTime <= 0 {
		commitTime = 180 * time.Second
	}
	n.loads = &loads{publishWait: commitTime / 2, catalog: n.Catalog, groups: n.Groups, sink: n.sink, settler: newSettler(n.sink, n.log), inflight: &n.inflight, wait: cfg.WaitGroups, tables: map[int64]groupTable{}}
	n.rpc = peer.NewServer(cfg.Token)
	n.rpc.HandleLoads(n.loads.handle, n.stopping)
	server := &berpc.Server{
		Engine: n.Engine, Logger: n.log, WALs: n.WALs.Counts, StreamLoadRecords: n.records.list, Fetch: peers.Fetch,
		Exec: &exec.Executor{
			Self: n.ID, Storage: n.Engine, Peers: peers, Duck: n.queries, Statements: make(chan struct{}, statements(n.cfg.Duck)),
		},
	}
	server.Register(n.rpc)
	n.run("gRPC", func() error { return n.rpc.Serve(cfg.RPC) })
	n.run("group commit recovery", func() error { return n.Groups.Recover(n.ctx) })
	n.run("storage background work", func() error { return n.Engine.Run(n.ctx) })
	n.wg.Go(func() { n.heartbeats(n.ctx) })
	n.wg.Go(func() { n.settlePending(n.ctx) })
	n.wg.Go(func() { n.dropGone(n.ctx) })
	n.wg.Go(func() { n.removeGone(n.ctx) })
	n.wg.Go(func() { newSealer(n.Catalog, n.Groups.Seal).run(n.ctx) })
	n.wg.Go(func() { n.sweepWALs(n.ctx) })
	n.wg.Go(func() { n.loads.settler.run(n.ctx) })
	if cfg.NewHTTP == nil {
		return nil
	}
	h, err := cfg.NewHTTP(n)
	if err != nil {
		return err
	}
	n.http = &http.Server{Handler: n.requests.handler(h), BaseContext: func(net.Listener) context.Context { return n.ctx }, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute, ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug)}
	n.run("HTTP", func() error {
		if err := n.http.Serve(cfg.HTTP); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return nil
}

// run owns a goroutine whose failure ends the node.
func (n *Node) run(what string, f func() error) {
	n.wg.Go(func() {
		if err := f(); err != nil && n.ctx.Err() == nil {
			n.fail(fmt.Errorf("%s: %w", what, err))
		}
	})
}

func (n *Node) fail(err error) {
	select {
	case n.failed <- err:
	default:
	}
}

// Failed gives the error that makes the node unfit to go on: the process stops.
func (n *Node) Failed() <-chan error { return n.failed }

// Host is the address that clients are redirected to.
func (n *Node) Host() string { return n.cfg.Host }

// Loader is what Stream Load needs.
func (n *Node) Loader() *Loader { return &Loader{loads: n.loads, token: n.cfg.Token} }

// close ends what is open, in the order that lets each part finish.
func (n *Node) close() error {
	n.cancel()
	var errs []error
	if n.Groups != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		// Stop was called with its bound before; here it only ends what is left.
		_ = n.Groups.Stop(ctx)
	}
	if n.rpc != nil {
		n.rpc.Stop()
	}
	if n.http != nil {
		errs = append(errs, n.http.Close())
	}
	n.wg.Wait()
	if n.sink != nil {
		n.sink.Close()
	}
	if err := n.idle(); err != nil {
		// What they use stays open: the process ends with it.
		return errors.Join(append(errs, err)...)
	}
	if n.WALs != nil {
		errs = append(errs, n.WALs.Close())
	}
	if n.Engine != nil {
		errs = append(errs, n.Engine.Close())
	}
	errs = append(errs, n.Expressions.Close())
	for _, db := range []*duck.DB{n.queries, n.flushes} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

func port(l net.Listener) int {
	if l == nil {
		return 0
	}
	if _, p, err := net.SplitHostPort(l.Addr().String()); err == nil {
		if n, err := strconv.Atoi(p); err == nil {
			return n
		}
	}
	return 0
}

var errStale = doriserr.New(doriserr.StaleEpoch, "another process registered as this backend: this one must stop")

// Background runs f until the node stops.
func (n *Node) Background(f func(ctx context.Context)) { n.wg.Go(func() { f(n.ctx) }) }

// ErrorLogDir is where filtered rows of loads are kept for ErrorURL.
func (n *Node) ErrorLogDir() string { return n.cfg.Roots[0] + ".errorlog" }

// SpoolDir is where bodies are kept that can only be read from a file.
func (n *Node) SpoolDir() string { return n.cfg.Roots[0] + ".spool" }

// HTTPAddr is the address that clients reach this BE by.
func (n *Node) HTTPAddr() string { return net.JoinHostPort(n.cfg.Host, strconv.Itoa(port(n.cfg.HTTP))) }

// Health says whether the node takes loads, and whether it is stopping.
func (n *Node) Health() (ready, stopping bool) {
	_, loaded := n.Catalog.Index()
	return loaded, n.ctx.Err() != nil
}
