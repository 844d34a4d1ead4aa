package bench

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"time"
)

// Modes of group commit.
const (
	Async = "async"
	Sync  = "sync"
	Off   = "off"
)

// Protocols.
const (
	Text       = "text"        // COM_QUERY
	Prepared   = "prepared"    // COM_STMT_EXECUTE
	StreamLoad = "stream-load" // HTTP, CSV
)

// Target is a server under measurement.
type Target struct {
	Name string
	// Doris says that group commit and Stream Load are known there.
	Doris bool
	Login Login
	// HTTP is host:port for Stream Loads: a BE, or an FE that redirects to one.
	HTTP string
	// PIDs are the server's processes, whose CPU time is read, if known.
	PIDs []int
}

// Case is what is sent.
type Case struct {
	Table       *Table
	Mode        string
	Protocol    string
	Connections int
	// Rows of each statement.
	Rows int
	// Interval is the table's group_commit_interval_ms; 0 leaves the default.
	Interval time.Duration
}

// Options are the bounds of a measurement.
type Options struct {
	// Warmup goes before Duration, the measured time.
	Warmup, Duration time.Duration
	// MaxStatements is the most statements of a measurement.
	MaxStatements int64
	Buckets       int
	// Replicas is the replication_num of the tables.
	Replicas int
	Seed     uint64
	// VisibleWait is how long the rows may take to be all visible afterwards,
	// beyond the interval.
	VisibleWait time.Duration
	// Profile, if set, is called when the measured time begins, in a goroutine
	// of the run's; it has to end by itself soon after the measured time.
	Profile func(context.Context, Target, Case)
}

// database holds the tables of all runs.
const database = "dorisgo_bench"

// defaultInterval is a table's group_commit_interval_ms unless it is set.
const defaultInterval = 10 * time.Second

// Run makes a table, measures one case on it, counts its rows and drops it.
func Run(ctx context.Context, t Target, c Case, o Options) (*Result, error) {
	if err := c.check(t); err != nil {
		return nil, err
	}
	admin, err := Dial(ctx, t.Login)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	defer admin.Close()
	table := fmt.Sprintf("t%d", time.Now().UnixNano())
	create := c.Table.createMySQL(database, table)
	if t.Doris {
		create = c.Table.createDoris(database, table, max(1, o.Buckets), o.Replicas, c.Interval)
	}
	for _, sql := range []string{"CREATE DATABASE IF NOT EXISTS " + database, create} {
		if err := admin.Exec(sql); err != nil {
			return nil, fmt.Errorf("%s: cannot make the table: %w", t.Name, err)
		}
	}
	r, err := measure(ctx, t, c, o, table)
	if err == nil {
		err = r.verify(ctx, admin, database+"."+table, o.VisibleWait+c.wait())
	}
	if dropErr := admin.Exec("DROP TABLE " + database + "." + table); dropErr != nil && err == nil {
		err = fmt.Errorf("%s: cannot drop the table: %w", t.Name, dropErr)
	}
	return r, err
}

func (c Case) check(t Target) error {
	switch {
	case c.Connections < 1 || c.Rows < 1:
		return errors.New("connections and rows have to be at least 1")
	case c.Protocol == StreamLoad && t.HTTP == "":
		return fmt.Errorf("%s: no HTTP address for Stream Loads", t.Name)
	case c.Protocol == Prepared && c.Rows*c.Table.Columns() > 65535:
		return fmt.Errorf("%d rows of %d columns are more than 65535 parameters", c.Rows, c.Table.Columns())
	}
	return nil
}

// wait is how long a group may collect.
func (c Case) wait() time.Duration {
	if c.Interval > 0 {
		return c.Interval
	}
	return defaultInterval
}

// measure connects, runs the loop and reads what it used.
func measure(ctx context.Context, t Target, c Case, o Options, table string) (*Result, error) {
	l, err := newLoop()
	if err != nil {
		return nil, err
	}
	defer l.close()
	if err := connect(ctx, l, t, c, o, table); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	l.limit = o.MaxStatements
	l.from = time.Now().Add(o.Warmup)
	l.until = l.from.Add(o.Duration)
	l.last = l.until.Add(30*time.Second + c.wait())
	u := usageOf(t.PIDs)
	done := make(chan *usage, 1)
	go func() { done <- u.during(ctx, l.from, l.until) }()
	if o.Profile != nil {
		profiled := make(chan struct{})
		go func() {
			defer close(profiled)
			if sleep(ctx, time.Until(l.from)) == nil {
				o.Profile(ctx, t, c)
			}
		}()
		defer func() { <-profiled }()
	}
	if err := l.run(ctx); err != nil {
		return nil, err
	}
	r := &Result{Target: t.Name, Doris: t.Doris, Case: c, Seconds: o.Duration.Seconds(), Tally: l.t}
	if l.sent >= l.limit {
		r.Limited = true
	}
	r.usage = <-done
	return r, nil
}

// connect fills the loop with signed-in connections.
func connect(ctx context.Context, l *loop, t Target, c Case, o Options, table string) error {
	g := NewGenerator(c.Table, o.Seed)
	into := database + "." + table
	if c.Protocol == StreamLoad {
		return connectHTTP(ctx, l, t, c, g, table)
	}
	var s *stock
	var err error
	if c.Protocol == Prepared {
		s, err = paramStock(c.Table, g, c.Rows)
	} else {
		s, err = textStock(c.Table, g, into, c.Rows)
	}
	if err != nil {
		return err
	}
	for i := range c.Connections {
		conn, err := Dial(ctx, t.Login)
		if err != nil {
			return fmt.Errorf("connection %d: %w", i+1, err)
		}
		var x exchange = &textExchange{s.start(i, c.Connections)}
		if t.Doris {
			err = conn.Exec("SET group_commit = " + c.Mode + "_mode")
		}
		if c.Protocol == Prepared && err == nil {
			p := &preparedExchange{cursor: s.start(i, c.Connections), types: appendParamTypes(nil, c.Table, c.Rows)}
			var params int
			if p.id, params, err = conn.Prepare(prepareText(c.Table, into, c.Rows)); err == nil && params != c.Rows*c.Table.Columns() {
				err = fmt.Errorf("the server sees %d parameters", params)
			}
			x = p
		}
		if err != nil {
			conn.Close()
			return fmt.Errorf("connection %d: %w", i+1, err)
		}
		if err := l.add(conn.nc, x, c.Rows); err != nil {
			return err
		}
	}
	return nil
}

func connectHTTP(ctx context.Context, l *loop, t Target, c Case, g *Generator, table string) error {
	path := "/api/" + database + "/" + table + "/_stream_load"
	login := base64.StdEncoding.EncodeToString([]byte(t.Login.User + ":" + t.Login.Password))
	host, err := backendOf(ctx, t.HTTP, path, login)
	if err != nil {
		return err
	}
	s, err := loadStock(c.Table, g, host, path, login, c.Mode, c.Rows)
	if err != nil {
		return err
	}
	for i := range c.Connections {
		nc, err := (&net.Dialer{Timeout: setupTimeout}).DialContext(ctx, "tcp", host)
		if err != nil {
			return fmt.Errorf("connection %d: %w", i+1, err)
		}
		if err := l.add(nc, &loadExchange{s.start(i, c.Connections)}, c.Rows); err != nil {
			return err
		}
	}
	return nil
}

// verify waits until the table has every acknowledged row.
func (r *Result) verify(ctx context.Context, admin *Conn, table string, wait time.Duration) error {
	start := time.Now()
	for {
		rows, err := admin.Query("SELECT COUNT(*) FROM " + table)
		if err != nil {
			return fmt.Errorf("%s: cannot count the rows: %w", r.Target, err)
		}
		if len(rows) != 1 || len(rows[0]) != 1 {
			return fmt.Errorf("%s: COUNT(*) has no one row", r.Target)
		}
		if _, err := fmt.Sscan(rows[0][0], &r.Counted); err != nil {
			return fmt.Errorf("%s: COUNT(*) is %q", r.Target, rows[0][0])
		}
		r.VisibleAfter = time.Since(start)
		r.Verified = r.Counted >= r.Tally.AllRows && r.Counted <= r.Tally.AllRows+r.Tally.Unknown
		if r.Verified || r.Counted > r.Tally.AllRows || r.VisibleAfter > wait {
			return nil
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// sleep waits unless ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
