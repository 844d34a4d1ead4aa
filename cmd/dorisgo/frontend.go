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
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"dorisgo/conf"
	"dorisgo/fe"
	"dorisgo/fe/audit"
	"dorisgo/fe/exec"
	fehttp "dorisgo/fe/http"
	"dorisgo/fe/mysql"
	"dorisgo/gossip"
	"dorisgo/internal/version"
	"dorisgo/meta"
	"dorisgo/raftfsm"
	"dorisgo/rpc/peer"
	"dorisgo/tabletsched"
)

func feCommand() *cobra.Command {
	c := &cobra.Command{Use: "fe", Short: "Run a frontend"}
	var file string
	var sets []string
	start := &cobra.Command{
		Use: "start --conf fe.conf", Short: "Start a frontend and run until SIGTERM", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runFE(cmd, file, sets) },
	}
	start.Flags().StringVar(&file, "conf", "", "configuration file")
	start.Flags().StringArrayVar(&sets, "set", nil, "key=value over the configuration file; may be repeated")
	c.AddCommand(start)
	return c
}

func loadFE(file string, sets []string) (*conf.FE, []string, error) {
	c := conf.DefaultFE()
	warnings, err := c.Load(conf.Source{File: file, Env: os.Environ(), Sets: sets})
	if err = errors.Join(err, c.Validate()); err != nil {
		return nil, warnings, usageError{err}
	}
	return c, warnings, nil
}

func runFE(cmd *cobra.Command, file string, sets []string) (err error) {
	spareProcs()
	c, warnings, err := loadFE(file, sets)
	if err != nil {
		return err
	}
	log, closeLog, err := newLogger(&c.LogLevel, c.LogFormat.Get(), c.LogFile.Get())
	if err != nil {
		return usageError{err}
	}
	defer logClose(log, "the log", closeLog)
	log = log.With("node", "fe")
	for _, w := range warnings {
		log.Warn(w)
	}
	host, err := advertiseHost(c.AdvertiseHost.Get(), c.Priority.Get())
	if err != nil {
		return usageError{err}
	}
	dir, err := filepath.Abs(c.MetaDir.Get())
	if err != nil {
		return fmt.Errorf("meta_dir: %w", err)
	}
	ctx := cmd.Context()
	var open []net.Listener
	defer func() {
		for _, l := range open {
			l.Close()
		}
	}()
	ports := []struct {
		what string
		port int
	}{{"raft (edit_log_port)", c.EditLogPort.Int()}, {"gRPC (rpc_port)", c.RPCPort.Int()}, {"MySQL (query_port)", c.QueryPort.Int()}, {"HTTP (http_port)", c.HTTPPort.Int()}}
	for _, p := range ports {
		l, err := listen(ctx, p.what, c.ListenHost.Get(), p.port)
		if err != nil {
			return err
		}
		open = append(open, l)
	}
	raftL, rpcL, mysqlL, httpL := open[0], open[1], open[2], open[3]
	raftAddr := net.JoinHostPort(host, strconv.Itoa(tcpPort(raftL)))
	rpcAddr := net.JoinHostPort(host, strconv.Itoa(tcpPort(rpcL)))
	pool := peer.NewPool(c.ClusterToken.Get(), nil)
	defer pool.Close()
	g, err := gossip.Start(gossip.Config{
		Info: gossip.Info{Role: gossip.FE, UUID: rpcAddr, RPC: rpcAddr}, BindHost: c.ListenHost.Get(), BindPort: c.GossipPort.Int(), Advertise: gossipIP(host),
		Seeds: c.GossipSeeds.List(","), Token: c.ClusterToken.Get(), Logger: log,
	})
	if err != nil {
		return err
	}
	defer logClose(log, "gossip", g.Stop)
	auditor, closeAudit, err := openAudit(c.AuditFile.Get())
	if err != nil {
		return err
	}
	defer logClose(log, "the audit log", closeAudit)
	rc := raftfsm.DefaultConfig()
	rc.Dir, rc.Stream, rc.Bootstrap = dir, raftfsm.NewStream(raftL, raftAddr, nil), true
	rc.SnapshotEntries = uint64(c.Snapshot.Get())
	cfg := fe.Config{
		Raft: rc, RaftAddr: raftAddr, Host: host, RPC: rpcL, RPCPort: tcpPort(rpcL), MySQL: mysqlL, HTTP: httpL, Pool: pool, Token: c.ClusterToken.Get(),
		Version: version.Version, Logger: log, Protocol: protocol(c, log), Settings: feSettings{c}, Audit: auditor, Limits: limits(c), ClusterConfig: clusterConfig(c), Scheduler: schedulerLimits(c),
		CheckHours: func() (start, end int) { return c.CheckStart.Int(), c.CheckEnd.Int() },
		Heartbeat:  c.Heartbeat.Seconds(), DeadAfter: time.Duration(c.Heartbeat.Get()*c.HeartbeatTry.Get())*time.Second + 2*time.Second, NewHTTP: feHTTP(c, log),
	}
	n, err := fe.Start(ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "ready mysql=%d http=%d rpc=%d raft=%d gossip=%d\n", tcpPort(mysqlL), tcpPort(httpL), tcpPort(rpcL), tcpPort(raftL), g.Port())
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

// limits reads the keys that statements depend on.
func limits(c *conf.FE) func() exec.Limits {
	return func() exec.Limits {
		return exec.Limits{
			ReplicationNum: int32(c.Replicas.Get()), IntervalMs: int32(c.IntervalMs.Get()), DataBytes: int32(c.DataBytes.Get()),
			MaxBuckets: c.MaxBuckets.Int(), WaitGroups: c.WaitInternal.Get(),
		}
	}
}

func schedulerLimits(c *conf.FE) func() tabletsched.Limits {
	return func() tabletsched.Limits {
		l := tabletsched.DefaultLimits()
		l.RepairDelayMs, l.SlotsPerBackend, l.MaxBalancing = c.RepairDelay.Get()*1000, c.CloneSlots.Int(), c.MaxBalancing.Int()
		l.HighWatermark, l.DisableRepair, l.DisableBalance = c.HighWatermark.Int(), c.DisableScheduler.Get(), c.DisableBalance.Get()
		return l
	}
}

// clusterKeys are the keys that the rules of the metadata read: every frontend
// must see the same value, so they go through the log.
var clusterKeys = []string{
	meta.ConfigMaxRunningTxns, meta.ConfigLabelKeepS, meta.ConfigLabelMax, meta.ConfigDisableLoad, meta.ConfigTrashS, meta.ConfigAbortDownS, meta.ConfigPrecommitS,
	meta.ConfigPublishLogMax,
}

// clusterConfig are the cluster-wide keys that this node's configuration sets.
func clusterConfig(c *conf.FE) map[string]string {
	out := map[string]string{}
	for _, key := range clusterKeys {
		if e, ok := c.Lookup(key); ok && e.Value != e.Default {
			out[key] = e.Value
		}
	}
	return out
}

func protocol(c *conf.FE, log *slog.Logger) mysql.Options {
	return mysql.Options{
		Logger: log, AuthPlugin: c.AuthPlugin.Get(), MaxConnections: func() int { return c.MaxConnections.Int() }, MaxPreparedStmts: c.MaxPrepared.Int(),
		Pollers: pollers(c.Pollers.Int()),
	}
}

func openAudit(file string) (exec.Auditor, func() error, error) {
	if file == "" {
		return nil, func() error { return nil }, nil
	}
	l, err := audit.Open(file)
	if err != nil {
		return nil, nil, err
	}
	return l, l.Close, nil
}

// feHTTP makes an FE's HTTP server.
func feHTTP(c *conf.FE, log *slog.Logger) func(*fe.Node) (http.Handler, error) {
	return func(n *fe.Node) (http.Handler, error) {
		h := fehttp.New(fehttp.Options{Frontend: n.HTTPFrontend(), Metrics: n.Metrics(), Limits: func() fehttp.Limits {
			l := fehttp.DefaultLimits()
			l.RedirectPolicy, l.DrainBytes, l.DrainIdle = c.RedirectPolicy.Get(), c.DrainBytes.Get(), c.DrainIdle.Millis()
			return l
		}, Logger: log})
		return withProfiles(h, c.Profiles.Get()), nil
	}
}
