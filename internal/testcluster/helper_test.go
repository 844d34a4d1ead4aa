package testcluster

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"dorisgo/meta"
)

// start starts a cluster for the length of the test.
func start(t *testing.T, frontends, backends int) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := Start(ctx, Options{Dir: t.TempDir(), Frontends: frontends, Backends: backends})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return c
}

// session is one connection of a client.
type session struct {
	t    *testing.T
	conn *sql.Conn
}

// connect opens a session on a frontend; params are the driver's.
func connect(t *testing.T, c *Cluster, frontend int) *session {
	t.Helper()
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = "root", "tcp", c.FEs[frontend].MySQL
	cfg.Logger = log.New(io.Discard, "", 0)
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close() // of a frontend that may have stopped
		_ = db.Close()
	})
	return &session{t, conn}
}

func (s *session) try(query string, args ...any) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	_, err := s.conn.ExecContext(ctx, query, args...)
	return err
}

func (s *session) exec(query string, args ...any) {
	s.t.Helper()
	if err := s.try(query, args...); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
}

// refused wants an error that contains a text.
func (s *session) refused(query, text string) {
	s.t.Helper()
	if err := s.try(query); err == nil || !strings.Contains(err.Error(), text) {
		s.t.Errorf("%s: error %v, want one with %q", query, err, text)
	}
}

// rows are a result's rows, columns separated by commas.
func (s *session) rows(query string) ([]string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	rows, err := s.conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []string
	for rows.Next() {
		cells := make([]sql.NullString, len(cols))
		ptrs := make([]any, len(cols))
		for i := range cells {
			ptrs[i] = &cells[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			return nil, err
		}
		var text []string
		for _, c := range cells {
			if !c.Valid {
				c.String = "NULL"
			}
			text = append(text, c.String)
		}
		out = append(out, strings.Join(text, ","))
	}
	return out, rows.Err()
}

func (s *session) want(query string, want ...string) {
	s.t.Helper()
	if got, err := s.rows(query); err != nil || !slices.Equal(got, want) {
		s.t.Errorf("%s: %v, %v, want %v", query, got, err, want)
	}
}

// eventually waits until a query has a result.
func (s *session) eventually(within time.Duration, query string, want ...string) {
	s.t.Helper()
	var got []string
	var err error
	ok := poll(s.t, within, func() bool {
		got, err = s.rows(query)
		return err == nil && slices.Equal(got, want)
	})
	if !ok {
		s.t.Errorf("%s after %v: %v, %v, want %v", query, within, got, err, want)
	}
}

// poll asks until ok is true or the time is up.
func poll(t *testing.T, within time.Duration, ok func() bool) bool {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return ok()
		case <-ticker.C:
		}
	}
	return true
}

// insert is what SHOW LAST INSERT tells of an INSERT.
type insert struct {
	label, status string
	group         bool
}

// insert runs an INSERT and asks how it was done.
func (s *session) insert(query string, args ...any) insert {
	s.t.Helper()
	s.exec(query, args...)
	got, err := s.rows("SHOW LAST INSERT")
	if err != nil || len(got) != 1 {
		s.t.Fatalf("SHOW LAST INSERT: %v, %v", got, err)
	}
	cells := strings.Split(got[0], ",")
	return insert{label: cells[1], status: cells[4], group: strings.HasPrefix(cells[1], "group_commit_")}
}

// table finds a table in the first frontend's state.
func (c *Cluster) table(t *testing.T, db, name string) *meta.Table {
	t.Helper()
	var tb *meta.Table
	c.FEs[0].Node.Raft.View(func(s *meta.State) {
		if d := s.DatabaseByName(db); d != nil {
			tb = s.TableByName(d.ID, name)
		}
	})
	if tb == nil {
		t.Fatalf("there is no table %s.%s", db, name)
	}
	return tb
}

// regroup waits until every backend has the table's present group commit
// settings, and ends the open groups, which have the settings of before.
func (c *Cluster) regroup(t *testing.T, db, name string) {
	t.Helper()
	want := c.table(t, db, name)
	for i, be := range c.BEs {
		if !poll(t, 5*time.Second, func() bool {
			got, ok := be.Node.Catalog.TableByID(want.ID)
			return ok && got.Props.GroupCommitIntervalMs == want.Props.GroupCommitIntervalMs && got.Props.GroupCommitDataBytes == want.Props.GroupCommitDataBytes
		}) {
			t.Fatalf("backend %d does not hear of the settings of %s", i, name)
		}
		be.Node.Groups.Seal(want.ID)
	}
}

// version is a table's visible version.
func (c *Cluster) version(t *testing.T, db, name string) int64 {
	t.Helper()
	tb := c.table(t, db, name)
	var v meta.PartitionVersion
	c.FEs[0].Node.Raft.View(func(s *meta.State) { v, _ = s.PartitionVersion(tb.Partitions[0].ID) })
	return v.Visible
}

// created makes table t in a database of its own, with columns and properties.
func created(s *session, db, columns, rest string) {
	s.t.Helper()
	s.exec("CREATE DATABASE " + db)
	s.exec("USE " + db)
	s.exec(fmt.Sprintf("CREATE TABLE t (%s) %s", columns, rest))
}
