package clustertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	database = "chaos"
	table    = "t"

	// startTime is how long a new cluster may take until it serves.
	startTime = 60 * time.Second
	// recoverTime is how long it may take after a fault until every kind of
	// load is acknowledged again.
	recoverTime = 60 * time.Second
	// settleTime is how long it may take at the end until every acknowledged
	// row is visible and no WAL is left.
	settleTime = 90 * time.Second
	// restTime is what everything but the faults may take at most.
	restTime = 6 * time.Minute
)

// env is a number from the environment.
func env(tb testing.TB, name string, missing uint64) uint64 {
	tb.Helper()
	v := os.Getenv(name)
	if v == "" {
		return missing
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		tb.Fatalf("%s: %s", name, err)
	}
	return n
}

// TestChaos inflicts one round of faults, and goes on for CHAOS_MINUTES.
func TestChaos(t *testing.T) {
	seed := env(t, "CHAOS_SEED", uint64(rand.Uint32()))
	length := time.Duration(env(t, "CHAOS_MINUTES", 1)) * time.Minute
	if end, ok := t.Deadline(); ok && time.Until(end) < length+restTime {
		t.Fatalf("the test may take %s: give go test a longer -timeout", length+restTime)
	}
	t.Logf("CHAOS_SEED=%d", seed)
	c := startCluster(t)
	t.Logf("all nodes serve after %s", c.await(startTime, "a healthy cluster", c.healthy))
	createTable(t, c)
	w := startWorkload(t, c, seed)
	defer func() {
		t.Logf("loads:\n%s\nrefusals without their numbers:\n%s", w.summary(), strings.Join(w.reasons(12), "\n"))
	}()
	start := time.Now()
	c.recovered(w)
	r := rand.New(rand.NewPCG(seed, 0))
	for round := 0; round == 0 || time.Since(start) < length; round++ {
		for _, s := range plan(r, round == 0) {
			if round > 0 && time.Since(start) > length {
				break
			}
			t.Logf("%6.1f s: %s", time.Since(start).Seconds(), s)
			c.inflictAll(s)
			if s.wait {
				t.Logf("         every kind of load is acknowledged again after %s", c.recovered(w).Round(time.Millisecond))
			}
		}
	}
	c.recovered(w)
	w.stop()
	w.wait(t)
	t.Logf("%6.1f s: the clients have ended", time.Since(start).Seconds())
	c.settle(w)
}

func createTable(tb testing.TB, c *cluster) {
	tb.Helper()
	db := c.open("", nil)
	defer db.Close()
	for _, stmt := range []string{
		"CREATE DATABASE " + database,
		"CREATE TABLE " + database + "." + table + ` (id BIGINT NOT NULL, note VARCHAR(64) NULL) DUPLICATE KEY(id)
			DISTRIBUTED BY HASH(id) BUCKETS 6 PROPERTIES ("replication_num" = "3", "group_commit_interval_ms" = "300")`,
	} {
		if _, err := db.ExecContext(c.ctx, stmt); err != nil {
			tb.Fatalf("%s: %s", stmt, err)
		}
	}
}

// inflictAll runs a step's faults at the same time.
func (c *cluster) inflictAll(s step) {
	c.tb.Helper()
	ended := make(chan error, len(s.faults))
	for _, f := range s.faults {
		go func() { ended <- c.inflict(c.ctx, f) }()
	}
	var all error
	for range s.faults {
		all = errors.Join(all, <-ended)
	}
	if all != nil {
		c.tb.Fatal(all)
	}
}

// recovered waits until all BEs are alive and every kind of load was
// acknowledged since the call.
func (c *cluster) recovered(w *workload) time.Duration {
	c.tb.Helper()
	before := w.acked()
	return c.await(recoverTime, "all backends alive and every kind of load acknowledged", func(ctx context.Context) error {
		if err := c.healthy(ctx); err != nil {
			return err
		}
		now := w.acked()
		for _, g := range groups {
			if now[g.mode] == before[g.mode] {
				return fmt.Errorf("no %s load is acknowledged", g.mode)
			}
		}
		return nil
	})
}

// settle waits until the acknowledged rows are there and no WAL is left, and
// compares all rows with what was sent.
func (c *cluster) settle(w *workload) {
	c.tb.Helper()
	var ids []int64
	took := c.await(settleTime, "settled", func(ctx context.Context) (err error) {
		if err := errors.Join(c.healthy(ctx), c.noWALs(ctx), c.whole(ctx)); err != nil {
			return err
		}
		if ids, err = c.ids(ctx); err != nil {
			return err
		}
		if _, missing := w.check(ids); len(missing) > 0 {
			return fmt.Errorf("%d acknowledged loads are missing:\n%s", len(missing), firstOf(missing))
		}
		return nil
	})
	wrong, missing := w.check(ids)
	wrong = append(wrong, missing...)
	for _, e := range w.entries {
		if e.mode == "stream label" && !e.acked {
			wrong = append(wrong, fmt.Sprintf("label chaos-%d: %s", e.first, e.err))
		}
	}
	if len(wrong) > 0 {
		c.tb.Fatalf("%d problems:\n%s", len(wrong), firstOf(wrong))
	}
	c.tb.Logf("%d rows, all as sent, no WAL left, every replica whole, after %s", len(ids), took.Round(time.Millisecond))
}

// whole is an error while a replica lacks anything.
func (c *cluster) whole(ctx context.Context) error {
	db := c.open(database, nil)
	defer db.Close()
	rows, err := db.QueryContext(ctx, "ADMIN SHOW REPLICA STATUS FROM "+table+` WHERE STATUS != "OK"`)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
	}
	if n > 0 {
		return fmt.Errorf("%d replicas are not whole", n)
	}
	return rows.Err()
}

// ids are the ids of all rows; each row's note must be its own.
func (c *cluster) ids(ctx context.Context) ([]int64, error) {
	db := c.open(database, nil)
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SELECT id, note FROM "+table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []int64
	for rows.Next() {
		var id int64
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return nil, err
		}
		if text != note(id) {
			c.tb.Errorf("id %d has the note %q", id, text)
		}
		out = append(out, id)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	var n int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
		return nil, err
	}
	if n != len(out) {
		return nil, fmt.Errorf("COUNT(*) is %d of %d rows", n, len(out))
	}
	return out, nil
}

func firstOf(lines []string) string { return strings.Join(lines[:min(len(lines), 10)], "\n") }
