package fe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"dorisgo/fe/backends"
	"dorisgo/fe/exec"
	"dorisgo/fe/mysql"
	ferpc "dorisgo/fe/rpc"
	"dorisgo/meta"
	"dorisgo/raftfsm"
	"dorisgo/router"
	"dorisgo/rpc/fepb"
	"dorisgo/rpc/peer"
	"dorisgo/tabletsched"
	"dorisgo/txnmgr"
)

// Config is what a Node is started with.
type Config struct {
	// Raft is the configuration of the member; Fatal and Logger are filled in.
	Raft raftfsm.Config
	// RaftAddr is the address that other members dial.
	RaftAddr string
	// Host is the name that others dial.
	Host string
	// RPC, MySQL and HTTP are the listeners; RPC may be an in-process pipe,
	// which RPCPort then names.
	RPC     net.Listener
	RPCPort int
	MySQL   net.Listener
	HTTP    net.Listener
	Pool    *peer.Pool
	Token   string
	Version string
	Logger  *slog.Logger

	Protocol mysql.Options
	Settings exec.Settings
	Audit    exec.Auditor
	Limits   func() exec.Limits
	// ClusterConfig are configured keys that the whole cluster shares; the
	// leader puts them into the log (docs/configuration.md).
	ClusterConfig map[string]string
	// Scheduler gives the bounds of repairs; nil means the defaults.
	Scheduler func() tabletsched.Limits
	// CheckHours are the hours of the day from which and until which replicas are
	// compared; nil is never.
	CheckHours func() (start, end int)
	// LookEvery is the pause between looks at the replicas, 1 s by default.
	LookEvery time.Duration
	// Heartbeat is the pause between looks at heartbeats, DeadAfter the
	// silence after which a BE counts as dead.
	Heartbeat, DeadAfter time.Duration
	// NewHTTP makes the HTTP handler over the node.
	NewHTTP func(n *Node) (http.Handler, error)
}

// Node is one life of a frontend.
type Node struct {
	cfg      Config
	log      *slog.Logger
	Raft     *raftfsm.Node
	Exec     *exec.Server
	MySQL    *mysql.Server
	Backends *backends.Backends

	txns    *txnmgr.Manager
	sched   *tabletsched.Scheduler
	steps   steps
	checker *tabletsched.Checker
	rpc     *ferpc.Server
	grpc    *peer.Server
	http    *http.Server
	changer *changer
	groups  *router.Groups
	next    router.RoundRobin

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	failed chan error
}

// Start opens the metadata, waits until this FE can answer, and serves. ctx
// bounds the start alone. On an error nothing stays open.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	if cfg.Heartbeat <= 0 {
		cfg.Heartbeat = time.Second
	}
	if cfg.DeadAfter <= 0 {
		cfg.DeadAfter = 5 * time.Second
	}
	n := &Node{cfg: cfg, log: cfg.Logger, failed: make(chan error, 1), groups: router.NewGroups()}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (n *Node) start(ctx context.Context) (err error) {
	rc := n.cfg.Raft
	rc.Logger, rc.Fatal = n.log, n.fail
	if n.Raft, err = raftfsm.Open(rc); err != nil {
		return fmt.Errorf("cannot open the metadata: %w", err)
	}
	n.wire()
	n.run("gRPC", func() error { return n.grpc.Serve(n.cfg.RPC) })
	n.wg.Go(n.duties)
	if err := n.settle(ctx); err != nil {
		return err
	}
	return n.serve()
}

func (n *Node) wire() {
	cfg := n.cfg
	n.Backends = backends.New(cfg.Pool)
	n.steps = newSteps()
	n.txns = txnmgr.New(txnmgr.Config{Node: n.Raft, Orders: n.Backends, Logger: n.log, Observe: n.steps.observe})
	n.rpc = ferpc.New(n.Raft, n.txns, n.log)
	hours := cfg.CheckHours
	if hours == nil {
		hours = func() (start, end int) { return 0, 0 }
	}
	n.checker = tabletsched.NewChecker(tabletsched.CheckConfig{Node: n.Raft, Orders: n.Backends, Logger: n.log, Hours: hours})
	n.sched = tabletsched.New(tabletsched.Config{Node: n.Raft, Orders: n.Backends, Logger: n.log, Limits: cfg.Scheduler, Usage: n.usage, Every: cfg.LookEvery})
	n.grpc = peer.NewServer(cfg.Token)
	fepb.RegisterFrontendServer(n.grpc, n.rpc)
	n.changer = &changer{node: n.Raft, leader: peer.NewLeader(cfg.Pool, nil), server: &leaderHint{n.Raft}}
	n.Exec = exec.New(exec.Config{
		Node: n.Raft, Changer: n.changer, Backends: n.Backends, Groups: n.groups, Settings: cfg.Settings, Audit: cfg.Audit, Logger: n.log,
		Limits: cfg.Limits, Self: exec.Self{ID: n.Raft.ID(), Host: cfg.Host, Version: cfg.Version},
		Beats: n.newestBeats, Checks: checks{n}, Leaving: n.rpc.Leaving, Replica: n.replica,
	})
	n.MySQL = mysql.New(n.Exec, cfg.Protocol)
	n.Exec.Processes = n.MySQL
}

// checks gives statements the comparison of replicas.
type checks struct{ n *Node }

// Start implements exec.Checks.
func (c checks) Start(tablets []int64) {
	c.n.wg.Go(func() {
		for _, id := range tablets {
			if done, err := c.n.checker.Check(c.n.ctx, id); err != nil {
				c.n.log.Warn("the replicas of a tablet could not be compared", "tablet_id", id, "err", err)
			} else {
				c.n.log.Info("the replicas of a tablet were compared", "tablet_id", id, "version", done.Version, "differ", done.Differ)
			}
		}
	})
}

// Last implements exec.Checks.
func (c checks) Last(tabletID int64) (at time.Time, version int64, ok bool) {
	l, ok := c.n.checker.Last(tabletID)
	return l.At, l.Version, ok
}

func (n *Node) newestBeats() map[int64]exec.Beat {
	out := map[int64]exec.Beat{}
	for id, b := range n.rpc.Beats() {
		out[id] = exec.Beat{At: b.At, FailedRoots: b.FailedRoots}
	}
	return out
}

// usage is what the backends told of their disks.
func (n *Node) usage() map[int64]tabletsched.Usage {
	out := map[int64]tabletsched.Usage{}
	for id, b := range n.rpc.Beats() {
		out[id] = tabletsched.Usage{Used: b.TotalByte - b.AvailBytes, Total: b.TotalByte}
	}
	return out
}

func (n *Node) replica(backendID, tabletID, replicaID int64) (exec.ReplicaReport, bool) {
	r, ok := n.rpc.Replica(backendID, tabletID, replicaID)
	if !ok || !n.Raft.IsLeader() {
		return exec.ReplicaReport{}, false
	}
	return exec.ReplicaReport{Through: r.Through, Rows: r.Rows, Bytes: r.Bytes, Versions: r.Versions}, true
}

// duties runs what only the leader does, term after term.
func (n *Node) duties() {
	for {
		select {
		case <-n.ctx.Done():
			return
		case term := <-n.Raft.LeaderTerms():
			n.log.Info("this frontend leads", "term", term.Term)
			var wg sync.WaitGroup
			wg.Go(func() { n.txns.Lead(term.Ctx, term.Term) })
			wg.Go(func() { n.watchBackends(term.Ctx) })
			wg.Go(func() { n.sched.Lead(term.Ctx, term.Term) })
			wg.Go(func() { n.checker.Lead(term.Ctx, term.Term) })
			wg.Go(func() { n.shareConfig(term.Ctx) })
			wg.Wait()
		}
	}
}

// shareConfig puts this leader's cluster-wide keys into the log where they
// differ from it.
func (n *Node) shareConfig(ctx context.Context) {
	for key, value := range n.cfg.ClusterConfig {
		var now string
		n.Raft.View(func(st *meta.State) { now = st.Config()[key] })
		if now == value {
			continue
		}
		if _, err := n.Raft.Propose(ctx, &meta.SetConfig{Key: key, Value: value}); err != nil && ctx.Err() == nil {
			n.log.Warn("a configuration key could not be shared with the cluster", "key", key, "err", err)
		}
	}
}

// settle waits until the cluster knows this FE, which also proves that a leader
// is there and that this FE has caught up with it.
func (n *Node) settle(ctx context.Context) error {
	cfg := n.cfg
	_, err := n.changer.Change(ctx, &meta.RegisterFrontend{Frontend: meta.Frontend{
		ID: n.Raft.ID(), Host: cfg.Host, RaftAddr: cfg.RaftAddr, RPCAddr: net.JoinHostPort(cfg.Host, strconv.Itoa(cfg.RPCPort)),
		HTTPPort: port(cfg.HTTP), MySQL: port(cfg.MySQL), Version: cfg.Version,
	}})
	if err != nil {
		return fmt.Errorf("this frontend could not join its cluster: %w", err)
	}
	return nil
}

func (n *Node) serve() error {
	n.run("MySQL", func() error { return n.MySQL.Serve(n.cfg.MySQL) })
	if n.cfg.NewHTTP == nil {
		return nil
	}
	h, err := n.cfg.NewHTTP(n)
	if err != nil {
		return err
	}
	n.http = &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 5 * time.Minute, ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug)}
	n.run("HTTP", func() error {
		if err := n.http.Serve(n.cfg.HTTP); !errors.Is(err, http.ErrServerClosed) {
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

// StopClients lets running statements end and closes the clients' connections;
// ctx bounds the wait. The rest of the node goes on, so that a BE in the same
// process can commit what it has.
func (n *Node) StopClients(ctx context.Context) error {
	var errs []error
	if err := n.MySQL.Stop(ctx); err != nil {
		errs = append(errs, fmt.Errorf("MySQL: %w", err))
	}
	if n.http != nil {
		if err := n.http.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("HTTP: %w", err), n.http.Close())
		}
	}
	return errors.Join(errs...)
}

// Stop ends the node; ctx bounds the wait for clients.
func (n *Node) Stop(ctx context.Context) error {
	return errors.Join(n.StopClients(ctx), n.close())
}

func (n *Node) close() error {
	n.cancel()
	var errs []error
	if n.MySQL != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		// The bounded stop came before; this one only closes what is left.
		_ = n.MySQL.Stop(ctx)
	}
	if n.http != nil {
		errs = append(errs, n.http.Close())
	}
	if n.Backends != nil {
		n.Backends.Close()
	}
	if n.grpc != nil {
		n.grpc.Stop()
	}
	if n.Raft != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		errs = append(errs, n.Raft.Close(ctx))
	}
	n.wg.Wait()
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

func fmtID(id int64) string { return strconv.FormatInt(id, 10) }
