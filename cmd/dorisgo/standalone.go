package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"dorisgo/conf"
	"dorisgo/internal/version"
	"dorisgo/raftfsm"
	"dorisgo/standalone"
)

type standaloneFlags struct {
	dir                 string
	mysql, feHTTP, http int
	sets, acceptLoss    []string
	hints               bool
}

func standaloneCommand() *cobra.Command {
	var f standaloneFlags
	c := &cobra.Command{
		Use: "standalone --data-dir DIR", Short: "Run one frontend and one backend in this process until SIGTERM", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runStandalone(cmd, f) },
	}
	c.Flags().StringVar(&f.dir, "data-dir", "", "directory of all data; made if it is missing")
	c.Flags().IntVar(&f.mysql, "mysql-port", 9030, "port of the MySQL protocol; 0 is any free one")
	c.Flags().IntVar(&f.feHTTP, "fe-http-port", 8030, "port of the frontend's HTTP; 0 is any free one")
	c.Flags().IntVar(&f.http, "be-http-port", 8040, "port of the backend's HTTP; 0 is any free one")
	c.Flags().StringArrayVar(&f.sets, "set", nil, "key=value of fe.conf or be.conf; may be repeated")
	c.Flags().StringArrayVar(&f.acceptLoss, "accept-loss", nil, "UUID of a directory whose loss is accepted; may be repeated")
	c.Flags().BoolVar(&f.hints, "hints", false, "print how to connect and what to try")
	if err := c.MarkFlagRequired("data-dir"); err != nil {
		panic(err) // the flag is defined above
	}
	return c
}

// standaloneConf reads the keys of both roles; a key that neither knows is a
// mistake.
func standaloneConf(sets []string) (*conf.FE, *conf.BE, error) {
	f, b := conf.DefaultFE(), conf.DefaultBE()
	var errs []error
	// One process has one backend. Whoever sets the key comes after this.
	if os.Getenv("DORISGO_DEFAULT_REPLICATION_NUM") == "" {
		sets = append([]string{"default_replication_num=1"}, sets...)
	}
	src := conf.Source{Env: os.Environ(), Sets: sets, Shared: true}
	_, err := f.Load(src)
	errs = append(errs, err)
	_, err = b.Load(src)
	errs = append(errs, err)
	for _, s := range sets {
		key, _, _ := strings.Cut(s, "=")
		if key = strings.TrimSpace(key); !f.Has(key) && !b.Has(key) {
			errs = append(errs, fmt.Errorf("--set %s: no key of fe.conf or be.conf has that name", s))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, usageError{err}
	}
	return f, b, nil
}

func runStandalone(cmd *cobra.Command, f standaloneFlags) error {
	spareProcs()
	fc, bc, err := standaloneConf(f.sets)
	if err != nil {
		return err
	}
	log, closeLog, err := newLogger(&fc.LogLevel, fc.LogFormat.Get(), fc.LogFile.Get())
	if err != nil {
		return usageError{err}
	}
	defer logClose(log, "the log", closeLog)
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	auditor, closeAudit, err := openAudit(fc.AuditFile.Get())
	if err != nil {
		return err
	}
	defer logClose(log, "the audit log", closeAudit)
	host := fc.AdvertiseHost.Get()
	if host == "" {
		host = "127.0.0.1"
	}
	rc := raftfsm.DefaultConfig()
	rc.SnapshotEntries = uint64(fc.Snapshot.Get())
	b := beConfig(bc, []string{filepath.Join(dir, "be", "storage")}, nil)
	cfg := standalone.Config{
		DataDir: dir, Host: host, MySQLPort: f.mysql, FEHTTPPort: f.feHTTP, BEHTTPPort: f.http, Version: version.Version, Logger: log,
		Raft: rc, Protocol: protocol(fc, log), Settings: feSettings{fc}, Limits: limits(fc), ClusterConfig: clusterConfig(fc), Audit: auditor, WALDirs: bc.WALPath.List(";"),
		WAL: b.WAL, Groups: b.Groups, Storage: b.Storage, Duck: b.Duck, FlushMemory: b.FlushMemory, LoadMemory: b.LoadMemory, WaitGroups: b.WaitGroups, Token: fc.ClusterToken.Get(), AcceptLoss: f.acceptLoss,
		FEHTTP: feHTTP(fc, log), BEHTTP: beHTTP(bc, log),
	}
	ctx := cmd.Context()
	s, err := standalone.Start(ctx, cfg)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if err := writePorts(dir, s.Ports); err != nil {
		log.Error("ports.json could not be written", "err", err)
	}
	fmt.Fprintf(out, "ready mysql=%d fe_http=%d be_http=%d\n", s.Ports.MySQL, s.Ports.FEHTTP, s.Ports.BEHTTP)
	if f.hints {
		printHints(out, host, s.Ports)
	}
	err = s.Failed(ctx)
	if err != nil {
		err = unfitError{err}
	} else {
		log.Info("stopping")
	}
	stop, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return errors.Join(err, s.Stop(stop))
}

// writePorts puts the chosen ports into ports.json, whole or not at all.
func writePorts(dir string, p standalone.Ports) error {
	b, err := json.MarshalIndent(p, "", "    ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "ports.json")
	if err := os.WriteFile(path+".tmp", append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func printHints(w io.Writer, host string, p standalone.Ports) {
	fmt.Fprintf(w, `
Connect in another shell:

    mariadb -h %[1]s -P %[2]d -u root

and paste:

    CREATE DATABASE db; USE db;
    CREATE TABLE dt (id int(11) NOT NULL, name varchar(50) NULL, score int(11) NULL) ENGINE=OLAP
      DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES ("replication_num" = "1");
    SET group_commit = sync_mode;
    INSERT INTO dt VALUES (1, 'Bob', 90), (2, 'Alice', 99);
    SELECT * FROM dt;

Load a file by HTTP:

    printf '6,Amy,60\n7,Ross,98\n' > data.csv
    curl --location-trusted -u root: -T data.csv -H "group_commit:async_mode" -H "column_separator:," \
         http://%[1]s:%[3]d/api/db/dt/_stream_load

All documented examples: MYSQL_PORT=%[2]d HTTP_PORT=%[3]d examples/walkthrough.sh
Stop with Ctrl-C.
`, host, p.MySQL, p.FEHTTP)
}
