package standalone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"dorisgo/be"
	"dorisgo/duck"
	"dorisgo/fe"
	"dorisgo/fe/exec"
	"dorisgo/fe/mysql"
	"dorisgo/groupcommit"
	"dorisgo/groupcommit/wal"
	"dorisgo/raftfsm"
	"dorisgo/rpc/peer"
	"dorisgo/storage"
)

// Config is what a Standalone is started with.
type Config struct {
	DataDir string
	// Host is the address to listen on and to send clients to.
	Host string
	// Ports; 0 takes any free one.
	MySQLPort, FEHTTPPort, BEHTTPPort int
	Version                           string
	Logger                            *slog.Logger

	Raft     raftfsm.Config
	Protocol mysql.Options
	Settings exec.Settings
	Limits   func() exec.Limits
	// ClusterConfig are the FE keys that differ from their defaults and go
	// through the log.
	ClusterConfig map[string]string
	Audit         exec.Auditor
	WALDirs       []string
	WAL           wal.Options
	Groups        groupcommit.Options
	Storage       storage.Options
	Duck          duck.Options
	// FlushMemory bounds the memory of flushes, LoadMemory that of expressions
	// and Parquet in loads, in bytes.
	FlushMemory, LoadMemory int64
	// WaitGroups is wait_internal_group_commit_finish; nil is false.
	WaitGroups func() bool
	Token      string
	// AcceptLoss are UUIDs of directories whose loss is accepted.
	AcceptLoss []string
	// FEHTTP and BEHTTP make the HTTP handlers.
	FEHTTP func(*fe.Node) (http.Handler, error)
	BEHTTP func(*be.Node) (http.Handler, error)
}

// Ports are the ports that were opened, as ports.json has them.
type Ports struct {
	MySQL  int `json:"mysql"`
	FEHTTP int `json:"fe_http"`
	BEHTTP int `json:"be_http"`
}

// Standalone is a running FE and BE.
type Standalone struct {
	Ports Ports
	FE    *fe.Node
	BE    *be.Node
	pool  *peer.Pool
	lock  *os.File
}

// The nodes' addresses on the in-process pipes; nothing listens there outside.
const (
	feRPC  = 9020
	beRPC  = 9060
	beBeat = 9050
)

// Start opens the data directory and serves. ctx bounds the start alone.
func Start(ctx context.Context, cfg Config) (_ *Standalone, err error) {
	s := &Standalone{}
	if s.lock, err = lockDir(cfg.DataDir); err != nil {
		return nil, err
	}
	var listeners []net.Listener
	defer func() {
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			err = errors.Join(err, s.close(context.Background()))
		}
	}()
	listen := func(what string, port int) (net.Listener, error) {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(cfg.Host, strconv.Itoa(port)))
		if err != nil {
			return nil, fmt.Errorf("cannot open the %s port %d on %s (choose another one, or 0 for any free one): %w", what, port, cfg.Host, err)
		}
		listeners = append(listeners, l)
		return l, nil
	}
	my, err := listen("MySQL", cfg.MySQLPort)
	if err != nil {
		return nil, err
	}
	feHTTP, err := listen("FE HTTP", cfg.FEHTTPPort)
	if err != nil {
		return nil, err
	}
	beHTTP, err := listen("BE HTTP", cfg.BEHTTPPort)
	if err != nil {
		return nil, err
	}
	s.Ports = Ports{MySQL: portOf(my), FEHTTP: portOf(feHTTP), BEHTTP: portOf(beHTTP)}

	pipes := &peer.Pipes{}
	s.pool = peer.NewPool(cfg.Token, pipes)
	addr := func(port int) string { return net.JoinHostPort(cfg.Host, strconv.Itoa(port)) }
	rc := cfg.Raft
	rc.Dir, rc.Bootstrap = filepath.Join(cfg.DataDir, "fe"), true
	const raftName = "standalone:9010"
	rc.Stream = raftfsm.NewStream(pipes.Listen(raftName), raftName, nil)
	// The BE's pipe is there before the FE leads and orders it to publish:
	// calls wait for the BE to accept them.
	feListener, beListener := pipes.Listen(addr(feRPC)), pipes.Listen(addr(beRPC))
	listeners = append(listeners, feListener, beListener)
	s.FE, err = fe.Start(ctx, fe.Config{
		Raft: rc, RaftAddr: raftName, Host: cfg.Host, RPC: feListener, RPCPort: feRPC, MySQL: my, HTTP: feHTTP, Pool: s.pool,
		Token: cfg.Token, Version: cfg.Version, Logger: cfg.Logger.With("node", "fe"), Protocol: cfg.Protocol, Settings: cfg.Settings, Audit: cfg.Audit,
		Limits: cfg.Limits, ClusterConfig: cfg.ClusterConfig, NewHTTP: cfg.FEHTTP,
	})
	if err != nil {
		return nil, err
	}
	beDir := filepath.Join(cfg.DataDir, "be")
	root := filepath.Join(beDir, "storage")
	walDirs := cfg.WALDirs
	if len(walDirs) == 0 {
		walDirs = []string{filepath.Join(beDir, "wal")}
	}
	for _, d := range append([]string{root}, walDirs...) {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("cannot make a directory: %w", err)
		}
	}
	dc := cfg.Duck
	dc.Dirs, dc.TempDir = []string{root}, filepath.Join(beDir, "tmp")
	s.BE, err = be.Start(ctx, be.Config{
		Roots: []string{root}, WALDirs: walDirs, Host: cfg.Host, HeartbeatPort: beBeat, RPC: beListener, RPCPort: beRPC, HTTP: beHTTP,
		Leader: peer.NewLeader(s.pool, []string{addr(feRPC)}), Pool: s.pool, Token: cfg.Token, Version: cfg.Version, Logger: cfg.Logger.With("node", "be"),
		WAL: cfg.WAL, Groups: cfg.Groups, Storage: cfg.Storage, Duck: dc, FlushMemory: cfg.FlushMemory, LoadMemory: cfg.LoadMemory, WaitGroups: cfg.WaitGroups, NewHTTP: cfg.BEHTTP, AcceptLoss: cfg.AcceptLoss,
	})
	if err != nil {
		return nil, err
	}
	s.FE.Backends.SetLocal(addr(beRPC), s.BE)
	return s, nil
}

// Failed gives the error that makes one of the nodes unfit to go on.
func (s *Standalone) Failed(ctx context.Context) error {
	select {
	case err := <-s.FE.Failed():
		return fmt.Errorf("FE: %w", err)
	case err := <-s.BE.Failed():
		return fmt.Errorf("BE: %w", err)
	case <-ctx.Done():
		return nil
	}
}

// Stop ends both nodes: new statements are refused, running ones answered, open
// groups committed or left in their WAL; ctx bounds that.
func (s *Standalone) Stop(ctx context.Context) error { return s.close(ctx) }

func (s *Standalone) close(ctx context.Context) error {
	var errs []error
	// Waiting sync INSERTs are answered when their groups commit, so the BE
	// seals them while the FE's clients are led out.
	clients := make(chan error, 1)
	if s.FE != nil {
		go func() { clients <- s.FE.StopClients(ctx) }()
	} else {
		clients <- nil
	}
	if s.BE != nil {
		errs = append(errs, s.BE.Stop(ctx))
	}
	errs = append(errs, <-clients)
	if s.FE != nil {
		errs = append(errs, s.FE.Stop(ctx))
	}
	if s.pool != nil {
		s.pool.Close()
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// StopTimeout is how long an orderly stop may take.
const StopTimeout = 30 * time.Second
