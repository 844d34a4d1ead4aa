package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"dorisgo/client"
)

// settleTime is how long a node may take from its ready line until replayed
// rows are visible and their WALs gone.
const settleTime = 30 * time.Second

// rounds is how many crashes a crash test has.
func rounds(tb testing.TB) int {
	tb.Helper()
	s := os.Getenv("E2E_CRASH_ROUNDS")
	if s == "" {
		if testing.Short() {
			return 2
		}
		return 4
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		tb.Fatalf("E2E_CRASH_ROUNDS=%s is not a number of rounds", s)
	}
	return n
}

// seed is printed, and can be given again by E2E_SEED. The moments of the
// threads are not part of it.
func seed(tb testing.TB) uint64 {
	tb.Helper()
	s := rand.Uint64()
	if v := os.Getenv("E2E_SEED"); v != "" {
		var err error
		if s, err = strconv.ParseUint(v, 10, 64); err != nil {
			tb.Fatalf("E2E_SEED: %s", err)
		}
	}
	tb.Logf("E2E_SEED=%d", s)
	return s
}

// crashTables have short and long groups: in a long one most acknowledged rows
// are in a WAL alone when the process dies.
var crashTables = []string{"fast", "slow"}

func createCrashTables(s *session, buckets, replicas int) {
	s.tb.Helper()
	s.run("CREATE DATABASE crash")
	for i, t := range crashTables {
		s.run(fmt.Sprintf(`CREATE TABLE crash.%s (id BIGINT NOT NULL, round INT NOT NULL, note VARCHAR(64) NULL) DUPLICATE KEY(id)
			DISTRIBUTED BY HASH(id) BUCKETS %d PROPERTIES ("replication_num" = "%d", "group_commit_interval_ms" = "%d")`, t, buckets, replicas, []int{40, 600}[i]))
	}
}

// crashed is what a crash test knows of the system it crashes.
type crashed struct {
	tb      testing.TB
	address client.Address
	wals    func(testing.TB) []string
	aside   func(testing.TB) []string
	// http are the ports of the BEs' HTTP.
	http func() []int
	// seen are the rows of each finished round.
	seen []int64
	sums []int64
}

// settle waits until the rows of a round are there and no WAL is left, and then
// compares them with what was sent. It returns the ids of the rows.
func (c *crashed) settle(round int, l *ledger) []int64 {
	c.tb.Helper()
	s, start := connect(c.tb, c.address), time.Now()
	var ids []int64
	eventually(c.tb, settleTime, fmt.Sprintf("round %d: acknowledged rows are there and WALs gone", round), func() (bool, string) {
		left := c.wals(c.tb)
		var err error
		if ids, err = idsOf(s, round); err != nil {
			return false, err.Error()
		}
		wrong, missing := l.check(ids)
		if missing {
			return false, strings.Join(firstOf(wrong), "\n")
		}
		return len(left) == 0, fmt.Sprintf("WALs %v", left)
	})
	if wrong, _ := l.check(ids); len(wrong) > 0 {
		c.tb.Fatalf("round %d, %d problems:\n%s", round, len(wrong), strings.Join(firstOf(wrong), "\n"))
	}
	sum := int64(0)
	for _, id := range ids {
		sum += id
	}
	c.seen, c.sums = append(c.seen, int64(len(ids))), append(c.sums, sum)
	c.tb.Logf("round %d: %d statements, %d acknowledged, %d rows, settled in %s", round, len(l.entries), l.acked.Load(), len(ids), time.Since(start).Round(time.Millisecond))
	return ids
}

// finish checks after the last round that no earlier round changed and that
// nothing is left undecided.
func (c *crashed) finish() {
	c.tb.Helper()
	s := connect(c.tb, c.address)
	for i := range c.seen {
		var count, sum int64
		for _, t := range crashTables {
			r := s.run(fmt.Sprintf("SELECT COUNT(*), SUM(id) FROM crash.%s WHERE round = %d", t, i))[0]
			count, sum = count+number(c.tb, r[0]), sum+number(c.tb, r[1])
		}
		if count != c.seen[i] || sum != c.sums[i] {
			c.tb.Errorf("round %d: %d rows with the sum %d, were %d with %d", i, count, sum, c.seen[i], c.sums[i])
		}
	}
	s.run("SET group_commit = 'sync_mode'")
	s.run("INSERT INTO crash.fast (id, round) VALUES (-1, -1)")
	last := number(c.tb, s.column("SHOW LAST INSERT", "TransactionId"))
	for id := max(1, last-300); id <= last; id++ {
		rows, err := s.try(fmt.Sprintf("SHOW TRANSACTION FROM crash WHERE id = %d", id))
		if err != nil {
			// Finished ones may be forgotten.
			checkRefused(c.tb, "SHOW TRANSACTION", err, 0, "does not exist")
			continue
		}
		if st := rows[0][3]; st != "VISIBLE" && st != "ABORTED" {
			c.tb.Errorf("transaction %d is not settled at the end: %q", id, rows[0])
		}
	}
	eventually(c.tb, settleTime, "WALs are gone", func() (bool, string) {
		left := c.wals(c.tb)
		return len(left) == 0, fmt.Sprint(left)
	})
	for _, port := range c.http() {
		eventually(c.tb, settleTime, "no WAL is counted", func() (bool, string) {
			n := metric(c.tb, port, "doris_be_wal_total_count")
			return n == "0", n
		})
	}
	// Of all lives: a counter would know the last one only.
	if files := c.aside(c.tb); len(files) > 0 {
		c.tb.Errorf("WALs were set aside: %v", files)
	}
}

// idsOf are the ids that a round has in all tables.
func idsOf(s *session, round int) ([]int64, error) {
	var ids []int64
	for _, t := range crashTables {
		rows, err := s.try(fmt.Sprintf("SELECT id, note FROM crash.%s WHERE round = %d", t, round))
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if r[1] != "note "+r[0] {
				s.tb.Errorf("id %s has the note %q", r[0], r[1])
			}
			ids = append(ids, number(s.tb, r[0]))
		}
	}
	return ids, nil
}

func number(tb testing.TB, s string) int64 {
	tb.Helper()
	if s == null {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func firstOf(lines []string) []string { return lines[:min(len(lines), 8)] }

// metric is the value of a metric without labels at a node's HTTP.
func metric(tb testing.TB, port int, name string) string {
	tb.Helper()
	r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	m := regexp.MustCompile(`(?m)^` + name + ` (.*)$`).FindSubmatch(b)
	if m == nil {
		return "no metric " + name
	}
	return string(m[1])
}

func upTo(r *rand.Rand, limit time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(limit)))
}

// TestCrashStandalone kills the process while clients insert, sometimes again
// while it recovers.
func TestCrashStandalone(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	createCrashTables(connect(t, a.address("")), 1, 1)
	c := &crashed{tb: t, address: a.address("crash"), wals: a.wals, aside: a.aside, http: func() []int { return []int{a.beHTTP} }}
	s := seed(t)
	r := rand.New(rand.NewPCG(s, 0))
	for round := range rounds(t) {
		w := startWorkload(t, s, round, c.address, c.http(), false, crashTables...)
		time.Sleep(50*time.Millisecond + upTo(r, 700*time.Millisecond)) // the moment of the crash
		a.kill()
		w.stop()
		w.wait(t)
		for r.IntN(3) == 0 {
			a.launch()
			time.Sleep(upTo(r, 600*time.Millisecond)) // a crash while it recovers
			a.kill()
		}
		a.start()
		c.settle(round, w.ledger)
	}
	c.finish()
	a.stop()
}

// TestCrashBackend kills one of two BEs that hold a table's buckets, and starts
// it again, while clients go on.
func TestCrashBackend(t *testing.T) {
	testCrashNode(t, func(c *cluster, r *rand.Rand) *process { return c.be[r.IntN(len(c.be))].process })
}

// TestCrashFrontend kills the FE while the BEs go on.
func TestCrashFrontend(t *testing.T) {
	testCrashNode(t, func(c *cluster, _ *rand.Rand) *process { return c.fe })
}

func testCrashNode(t *testing.T, victim func(*cluster, *rand.Rand) *process) {
	t.Parallel()
	// Groups that lost a replica are replayed: soon, for a test.
	cl := startCluster(t, 2, "group_commit_replay_wal_retry_interval_seconds = 1")
	createCrashTables(connect(t, cl.address("")), 4, 1)
	c := &crashed{tb: t, address: cl.address("crash"), wals: cl.wals, aside: cl.aside, http: func() []int { return []int{cl.be[0].http, cl.be[1].http} }}
	s := seed(t)
	r := rand.New(rand.NewPCG(s, 0))
	for round := range rounds(t) {
		w := startWorkload(t, s, round, c.address, c.http(), true, crashTables...)
		p := victim(cl, r)
		time.Sleep(100*time.Millisecond + upTo(r, 500*time.Millisecond)) // the moment of the crash
		p.kill()
		time.Sleep(upTo(r, 300*time.Millisecond)) // how long the node is away
		p.start()
		time.Sleep(upTo(r, 300*time.Millisecond)) // how long clients go on
		w.stop()
		w.wait(t)
		c.settle(round, w.ledger)
	}
	c.finish()
	for _, b := range cl.be {
		b.stop()
	}
	cl.fe.stop()
}
