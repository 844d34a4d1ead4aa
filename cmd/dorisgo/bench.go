package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dorisgo/bench"
)

type benchFlags struct {
	addr, http, user        string
	connections, rows       []int
	columns                 []int
	modes, protocols        []string
	duration, warmup, pause time.Duration
	visibleWait             time.Duration
	rounds, intervalMs      int
	maxStatements           int64
	buckets                 int
	replicas, backends      int
	seed                    uint64
	standalone, cluster     bool
	sets                    []string
	compare, compareUser    string
	compareName             string
	pids, comparePIDs       []int
	profile, output         string
	quiet                   bool
}

// benchCommand is `dorisgo bench`.
func benchCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure ingestion"}
	c.AddCommand(benchIngestCommand(), benchRowsCommand())
	return c
}

func benchIngestCommand() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use: "ingest", Short: "Send seeded rows by many connections; print rates, latencies and whether count(*) agrees", Args: cobra.NoArgs,
		Example: `  dorisgo bench ingest --standalone
  dorisgo bench ingest --addr 127.0.0.1:9030 --mode sync --interval-ms 10 --connections 1,100
  dorisgo bench ingest --standalone --cluster --connections 32 --rows-per-insert 1,100 --rounds 5 --compare-mysql 127.0.0.1:3306`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runBenchIngest(cmd, &f) },
	}
	p := c.Flags()
	p.StringVar(&f.addr, "addr", "", "host:port of the MySQL protocol of a server that runs already")
	p.StringVar(&f.http, "http", "", "host:port for Stream Loads and profiles: a backend, or a frontend, whose redirect is followed once")
	p.StringVar(&f.user, "user", "root", "user; the password comes from the environment variable DORISGO_PASSWORD")
	p.IntSliceVar(&f.connections, "connections", []int{1, 30, 100, 500}, "connections, a list")
	p.IntSliceVar(&f.rows, "rows-per-insert", []int{1}, "rows of each INSERT or load, a list")
	p.IntSliceVar(&f.columns, "table-columns", []int{3}, "3: (int, varchar, int); 5: web log; 16: lineitem-like; a list")
	p.StringSliceVar(&f.modes, "mode", []string{bench.Async}, "async, sync, off; a list")
	p.StringSliceVar(&f.protocols, "protocol", []string{bench.Text}, "text, prepared, stream-load; a list")
	p.DurationVar(&f.duration, "duration", 5*time.Second, "measured time of each case")
	p.DurationVar(&f.warmup, "warmup", time.Second, "time before it that is not measured")
	p.DurationVar(&f.pause, "pause", 0, "time between measurements")
	p.DurationVar(&f.visibleWait, "visible-wait", 60*time.Second, "how long, beyond the interval, all rows may take to be visible")
	p.IntVar(&f.rounds, "rounds", 1, "rounds of each case; the median is shown")
	p.IntVar(&f.intervalMs, "interval-ms", 0, "group_commit_interval_ms of the tables; 0 leaves the default")
	p.Int64Var(&f.maxStatements, "max-statements", 100_000_000, "most statements of one measurement")
	p.IntVar(&f.buckets, "buckets", 1, "buckets of the tables")
	p.IntVar(&f.replicas, "replicas", 1, "replication_num of the tables")
	p.IntVar(&f.backends, "backends", 1, "backends that --cluster starts")
	p.Uint64Var(&f.seed, "seed", 1, "seed of the rows")
	p.BoolVar(&f.standalone, "standalone", false, "start a standalone in a temporary directory, and stop it at the end")
	p.BoolVar(&f.cluster, "cluster", false, "the same with one FE and --backends BEs, each as a process")
	p.StringArrayVar(&f.sets, "set", nil, "key=value for the started standalone, fe:key=value and be:key=value for the started cluster; may be repeated")
	p.StringVar(&f.compare, "compare-mysql", "", "host:port or Unix socket of another MySQL server: the same load goes there in alternation, into InnoDB tables")
	p.StringVar(&f.compareUser, "compare-user", "root", "its user; the password comes from the environment variable COMPARE_PASSWORD")
	p.StringVar(&f.compareName, "compare-name", "MySQL", "its name in the report")
	p.IntSliceVar(&f.pids, "server-pid", nil, "processes of the server at --addr, for their CPU time; a list")
	p.IntSliceVar(&f.comparePIDs, "compare-pid", nil, "processes of the other server, for their CPU time; a list")
	p.StringVar(&f.profile, "profile", "", "file for a CPU profile of the server during the last measurement, if it offers one at --http")
	p.StringVarP(&f.output, "output", "o", "text", bench.FormatNames())
	p.BoolVarP(&f.quiet, "quiet", "q", false, "no line for each measurement on stderr")
	return c
}

// cases checks the lists and multiplies them.
func (f *benchFlags) cases() ([]bench.Case, error) {
	if f.addr == "" && !f.standalone && !f.cluster {
		return nil, errors.New("nothing to measure: give --addr, --standalone or --cluster")
	}
	if bench.Formats[f.output] == nil {
		return nil, fmt.Errorf("-o %s: choose one of %s", f.output, bench.FormatNames())
	}
	if f.duration <= 0 || f.warmup < 0 || f.rounds < 1 || f.backends < 1 || f.replicas < 1 || f.intervalMs < 0 || f.maxStatements < 1 {
		return nil, errors.New("--duration, --rounds, --backends, --replicas and --max-statements have to be positive, --warmup and --interval-ms not negative")
	}
	for _, m := range f.modes {
		if !slices.Contains([]string{bench.Async, bench.Sync, bench.Off}, m) {
			return nil, fmt.Errorf("--mode %s: choose async, sync or off", m)
		}
	}
	for _, p := range f.protocols {
		if !slices.Contains([]string{bench.Text, bench.Prepared, bench.StreamLoad}, p) {
			return nil, fmt.Errorf("--protocol %s: choose text, prepared or stream-load", p)
		}
		if p == bench.StreamLoad && f.addr != "" && f.http == "" {
			return nil, errors.New("--protocol stream-load needs --http")
		}
	}
	for _, n := range slices.Concat(f.connections, f.rows) {
		if n < 1 {
			return nil, fmt.Errorf("%d connections or rows are too few", n)
		}
	}
	var tables []*bench.Table
	for _, n := range f.columns {
		t, err := bench.TableByColumns(n)
		if err != nil {
			return nil, fmt.Errorf("--table-columns: %w", err)
		}
		tables = append(tables, t)
	}
	return bench.Cases(tables, f.modes, f.protocols, f.rows, f.connections, time.Duration(f.intervalMs)*time.Millisecond), nil
}

func runBenchIngest(cmd *cobra.Command, f *benchFlags) (err error) {
	cases, err := f.cases()
	if err != nil {
		return usageError{err}
	}
	s := bench.Suite{
		Cases: cases, Rounds: f.rounds, Pause: f.pause,
		Options: bench.Options{
			Warmup: f.warmup, Duration: f.duration, MaxStatements: f.maxStatements, Buckets: f.buckets, Replicas: f.replicas, Seed: f.seed, VisibleWait: f.visibleWait,
		},
	}
	ctx := cmd.Context()
	targets, stop, err := f.targets(ctx)
	defer func() { err = errors.Join(err, stop()) }()
	if err != nil {
		return err
	}
	s.Targets = targets
	log := cmd.ErrOrStderr()
	if f.profile != "" {
		s.Options.Profile = func(ctx context.Context, t bench.Target, _ bench.Case) {
			if !t.Doris || t.HTTP == "" {
				return
			}
			if err := bench.FetchProfile(ctx, t.HTTP, f.profile, f.duration); err != nil {
				fmt.Fprintf(log, "no profile of %s: %v\n", t.Name, err)
			}
		}
	}
	if !f.quiet {
		s.Progress = func(r *bench.Result) { fmt.Fprintln(log, r) }
	}
	results, err := s.Run(ctx)
	rep := bench.Report{Results: results}
	if f.compare != "" {
		rep.Other = f.compareName
	}
	if len(results) > 0 {
		err = errors.Join(err, bench.Formats[f.output](&rep, cmd.OutOrStdout()))
	}
	if err == nil && !rep.Verified() {
		err = errors.New("count(*) disagrees with the acknowledged rows")
	}
	return err
}

// targets starts what is to be started. stop is never nil.
func (f *benchFlags) targets(ctx context.Context) (targets []bench.Target, stop func() error, err error) {
	var started []*bench.Server
	stop = func() error {
		var errs []error
		for _, s := range started {
			errs = append(errs, s.Stop())
		}
		return errors.Join(errs...)
	}
	if f.addr != "" {
		targets = append(targets, bench.Target{
			Name: "dorisgo", Doris: true, HTTP: f.http, PIDs: f.pids,
			Login: bench.Login{Addr: f.addr, User: f.user, Password: os.Getenv("DORISGO_PASSWORD")},
		})
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, stop, err
	}
	var roles, plain []string
	for _, s := range f.sets {
		if strings.HasPrefix(s, "fe:") || strings.HasPrefix(s, "be:") {
			roles = append(roles, s)
		} else {
			plain = append(plain, s)
		}
	}
	cluster := func(ctx context.Context, binary string, sets []string) (*bench.Server, error) {
		return bench.StartCluster(ctx, binary, f.backends, sets)
	}
	for _, way := range []struct {
		wanted bool
		start  func(context.Context, string, []string) (*bench.Server, error)
		sets   []string
	}{{f.standalone, bench.StartStandalone, plain}, {f.cluster, cluster, roles}} {
		if !way.wanted {
			continue
		}
		s, err := way.start(ctx, binary, way.sets)
		if err != nil {
			return nil, stop, err
		}
		started = append(started, s)
		targets = append(targets, s.Target)
	}
	if f.compare != "" {
		targets = append(targets, bench.Target{
			Name: f.compareName, PIDs: f.comparePIDs,
			Login: bench.Login{Addr: f.compare, User: f.compareUser, Password: os.Getenv("COMPARE_PASSWORD")},
		})
	}
	return targets, stop, nil
}

func benchRowsCommand() *cobra.Command {
	var columns, rows int
	var seed uint64
	c := &cobra.Command{
		Use: "rows", Short: "Print the rows that bench sends, as CSV with commas", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := bench.TableByColumns(columns)
			if err != nil {
				return usageError{fmt.Errorf("--table-columns: %w", err)}
			}
			w := bufio.NewWriter(cmd.OutOrStdout())
			return errors.Join(bench.NewGenerator(t, seed).WriteCSV(w, rows), w.Flush())
		},
	}
	c.Flags().IntVar(&columns, "table-columns", 3, "3, 5 or 16")
	c.Flags().IntVar(&rows, "rows", 1000, "number of rows")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of the rows")
	return c
}
