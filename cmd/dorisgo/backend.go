package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"dorisgo/be"
	behttp "dorisgo/be/http"
	"dorisgo/conf"
	"dorisgo/duck"
	"dorisgo/gossip"
	"dorisgo/groupcommit"
	"dorisgo/groupcommit/wal"
	"dorisgo/internal/version"
	"dorisgo/load/errlog"
	"dorisgo/meta/priv"
	"dorisgo/rpc/peer"
	"dorisgo/storage"
)

func beCommand() *cobra.Command {
	c := &cobra.Command{Use: "be", Short: "Run a backend"}
	var file string
	var sets, accept []string
	start := &cobra.Command{
		Use: "start --conf be.conf", Short: "Start a backend and run until SIGTERM", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runBE(cmd, file, sets, accept) },
	}
	start.Flags().StringVar(&file, "conf", "", "configuration file")
	start.Flags().StringArrayVar(&sets, "set", nil, "key=value over the configuration file; may be repeated")
	start.Flags().StringArrayVar(&accept, "accept-loss", nil, "UUID of a directory whose loss is accepted; may be repeated")
	c.AddCommand(start)
	return c
}

func loadBE(file string, sets []string) (*conf.BE, []string, error) {
	c := conf.DefaultBE()
	warnings, err := c.Load(conf.Source{File: file, Env: os.Environ(), Sets: sets})
	if err = errors.Join(err, c.Validate()); err != nil {
		return nil, warnings, usageError{err}
	}
	return c, warnings, nil
}

func runBE(cmd *cobra.Command, file string, sets, accept []string) error {
	spareProcs()
	c, warnings, err := loadBE(file, sets)
	if err != nil {
		return err
	}
	log, closeLog, err := newLogger(&c.LogLevel, c.LogFormat.Get(), c.LogFile.Get())
	if err != nil {
		return usageError{err}
	}
	defer logClose(log, "the log", closeLog)
	log = log.With("node", "be")
	for _, w := range warnings {
		log.Warn(w)
	}
	host, err := advertiseHost(c.AdvertiseHost.Get(), c.Priority.Get())
	if err != nil {
		return usageError{err}
	}
	roots, wals, err := beDirs(c)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	listenHost := c.ListenHost.Get()
	rpc, err := listen(ctx, "gRPC (be_port)", listenHost, c.Port.Int())
	if err != nil {
		return err
	}
	web, err := listen(ctx, "HTTP (webserver_port)", listenHost, c.WebPort.Int())
	if err != nil {
		return errors.Join(err, rpc.Close())
	}
	pool := peer.NewPool(c.ClusterToken.Get(), nil)
	defer pool.Close()
	leader := peer.NewLeader(pool, c.Frontends.List(","))
	rpcAddr := net.JoinHostPort(host, strconv.Itoa(tcpPort(rpc)))
	g, err := gossip.Start(gossip.Config{
		Info: gossip.Info{Role: gossip.BE, UUID: rpcAddr, RPC: rpcAddr}, BindHost: listenHost, BindPort: c.GossipPort.Int(), Advertise: gossipIP(host),
		Seeds: c.GossipSeeds.List(","), Token: c.ClusterToken.Get(), Logger: log, Events: learner{leader},
	})
	if err != nil {
		return errors.Join(err, rpc.Close(), web.Close())
	}
	defer logClose(log, "gossip", g.Stop)
	cfg := beConfig(c, roots, wals)
	cfg.Host, cfg.HeartbeatPort, cfg.RPC, cfg.RPCPort, cfg.HTTP = host, c.HeartbeatPort.Int(), rpc, tcpPort(rpc), web
	cfg.Leader, cfg.Pool, cfg.AcceptLoss, cfg.Logger = leader, pool, accept, log
	cfg.NewHTTP = beHTTP(c, log)
	n, err := be.Start(ctx, cfg)
	if err != nil {
		return errors.Join(err, rpc.Close(), web.Close())
	}
	fmt.Fprintf(cmd.OutOrStdout(), "ready backend_id=%d http=%d rpc=%d\n", n.ID, tcpPort(web), tcpPort(rpc))
	select {
	case <-ctx.Done():
		log.Info("stopping")
	case err = <-n.Failed():
		err = unfitError{err}
	}
	stop, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return errors.Join(err, n.Stop(stop))
}

// learner tells the FE client of frontends that gossip found.
type learner struct{ leader *peer.Leader }

// Joined implements gossip.Events.
func (l learner) Joined(i gossip.Info) {
	if i.Role == gossip.FE {
		l.leader.Learn(i.RPC)
	}
}

// Gone implements gossip.Events: an address stays worth a try.
func (l learner) Gone(gossip.Info) {}

// beDirs are the storage roots and WAL directories, made if they are missing.
func beDirs(c *conf.BE) (roots, wals []string, err error) {
	for _, r := range c.Roots.List(";") {
		abs, err := filepath.Abs(r)
		if err != nil {
			return nil, nil, fmt.Errorf("storage_root_path %q: %w", r, err)
		}
		roots = append(roots, abs)
	}
	wals = c.WALPath.List(";")
	for _, w := range wals {
		if !filepath.IsAbs(w) {
			return nil, nil, usageError{errors.New("BE config group_commit_replay_wal_dir has to be absolute path!")}
		}
	}
	if len(wals) == 0 {
		for _, r := range roots {
			// Beside the root: a storage root holds nothing but its own.
			wals = append(wals, r+".wal")
		}
	}
	for _, d := range append(append([]string{}, roots...), wals...) {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, nil, fmt.Errorf("cannot make a directory: %w", err)
		}
	}
	return roots, wals, nil
}

// beConfig is the part of a node's configuration that comes from keys.
func beConfig(c *conf.BE, roots, wals []string) be.Config {
	mem := machineMemory()
	threads := c.QueryThreads.Int()
	if threads == 0 {
		threads = runtime.NumCPU()
	}
	spill := c.SpillPath.Get()
	if spill == "" {
		spill = roots[0] + ".spill"
	}
	return be.Config{
		Roots: roots, WALDirs: wals, Token: c.ClusterToken.Get(), Version: version.Version,
		WAL: wal.Options{Limit: c.WALDisk.String(), NoSync: !c.WALSync.Get()},
		Groups: groupcommit.Options{
			MemLimit: c.QueueMem.Get(), MaxWALsPerTable: walLimit(c), ReplayRetryNum: c.ReplayRetries.Int(),
			ReplayRetryInterval: c.ReplayPause.Seconds(), ReplayRetryMax: c.ReplayPauseMax.Seconds(), ReplayThreads: c.ReplayThreads.Int(),
			CommitTimeout: c.CommitRPC.Millis(),
		},
		Storage: storage.Options{
			InlineLimitBytes: c.InlineLimit.Get(), FlushRowsets: c.FlushRowsets.Int(), FlushBytes: c.FlushBytes.Get(),
			CompactMinFiles: c.CompactFiles.Int(), CompactMaxBytes: c.CompactBytes.Get(), MaxVersions: c.MaxVersions.Int(),
			MinFreeBytes: c.FloodLeft.Get(), FullPercent: c.FloodPercent.Int(), BallastBytes: c.Ballast.Get(), TrashExpire: c.TrashSeconds.Seconds(),
		},
		Duck: duck.Options{
			Dirs: roots, TempDir: spill, MemoryLimitBytes: c.QueryMemory.Bytes(mem), Threads: threads, MaxConcurrent: c.QueryNum.Int(),
		},
		FlushMemory: c.FlushMemory.Bytes(mem), LoadMemory: c.LoadMemory.Bytes(mem),
		WaitGroups: c.WaitInternal.Get,
	}
}

func walLimit(c *conf.BE) int {
	if n := c.WALNum.Int(); n > 0 {
		return n
	}
	return -1 // no limit
}

// machineMemory is the machine's memory in bytes.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 4 << 30
	}
	return int64(info.Totalram) * int64(info.Unit)
}

// beHTTP makes a BE's HTTP server from its keys.
func beHTTP(c *conf.BE, log *slog.Logger) func(*be.Node) (http.Handler, error) {
	return func(n *be.Node) (http.Handler, error) {
		store, err := errlog.Open(errlog.Options{Dir: n.ErrorLogDir(), Retention: time.Duration(c.ErrorLogHours.Get()) * time.Hour, Logger: log})
		if err != nil {
			return nil, err
		}
		n.Background(func(ctx context.Context) { store.Run(ctx, time.Hour) })
		spool, err := behttp.OpenSpool(n.SpoolDir(), c.SpoolBytes.Get)
		if err != nil {
			return nil, err
		}
		loader := n.Loader()
		h, err := behttp.New(behttp.Options{
			Loader: loader, Compile: n.Expressions.Compile, Spool: spool, OpenParquet: n.Expressions.OpenParquet, Errors: store, Advertise: n.HTTPAddr(), MemoryBytes: c.BodyMem.Get(),
			Limits: func() behttp.Limits {
				l := behttp.DefaultLimits()
				l.StreamingLoadMaxMB, l.StreamingLoadJSONMaxMB = c.MaxMB.Get(), c.MaxJSONMB.Get()
				l.StringLimit, l.MemoryRows = c.StringLimit.Int(), c.FilterRows.Get()
				l.MaxRowBytes = c.LineBytes.Int()
				l.Timeout, l.MinTimeout, l.MaxTimeout = c.LoadTimeout.Seconds(), c.MinTimeout.Seconds(), c.MaxTimeout.Seconds()
				return l
			},
			Settings: beSettings{c, func() { n.Groups.SetLimits(c.QueueMem.Get(), walLimit(c)) }},
			Admin: func(ctx context.Context, user, password, token string) error {
				if err := loader.Authenticate(ctx, user, password, token); err != nil || token != "" {
					return err
				}
				return loader.Authorize(user, priv.Admin)
			},
			Health: n.Health, Finished: n.RecordLoads(c.RecordNum.Int(), c.RecordLoads.Get), Metrics: n.Metrics.Handler(), Registerer: n.Metrics.Registry(), ErrorLogLimit: c.ErrorLogBytes.Get(), Logger: log,
		})
		if err != nil {
			return nil, err
		}
		return withProfiles(h, c.Profiles.Get()), nil
	}
}
