package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"dorisgo/client"
)

// pending is what is under way when a node is told to stop: acknowledged rows
// in an open group, sync clients that wait, uploads whose body is not complete.
type pending struct {
	tb      testing.TB
	address client.Address
	ledger  *ledger
	waiting sync.WaitGroup
	// uploads end when their bodies are closed or the node goes away.
	uploads sync.WaitGroup
	bodies  []*io.PipeWriter

	mu      sync.Mutex
	answers map[string]int
	cut     []string
}

const (
	asyncRows   = 20
	syncClients = 10
	uploads     = 5
)

// openWork makes that state on a system with a table of a long interval.
func openWork(tb testing.TB, a client.Address, beHTTP int) *pending {
	tb.Helper()
	s := connect(tb, a)
	s.run("CREATE DATABASE stop")
	s.run(`CREATE TABLE stop.t (id BIGINT NOT NULL, round INT NULL, note VARCHAR(64) NULL) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 2
		PROPERTIES ("replication_num" = "1", "group_commit_interval_ms" = "20000")`)
	a.DB = "stop"
	p := &pending{tb: tb, address: a, ledger: &ledger{}, answers: map[string]int{}}
	s.run("USE stop")
	s.run("SET group_commit = async_mode")
	for i := range int64(asyncRows) {
		e := &entry{first: i, rows: 1, acked: true, what: "async"}
		s.run(fmt.Sprintf("INSERT INTO t (id) VALUES (%d)", i))
		p.ledger.add(e)
	}
	for i := range int64(syncClients) {
		p.waiting.Go(func() { p.syncClient(1000+i, i%2 == 0) })
	}
	for i := range uploads {
		r, w := io.Pipe()
		p.bodies = append(p.bodies, w)
		p.uploads.Go(func() { p.upload(beHTTP, int64(2000+i), r) })
		// The pipe gives what was written: the node has the first row.
		if _, err := fmt.Fprintf(w, "%d\n", 2000+i); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Cleanup(p.end)
	eventually(tb, statementTime, "all loads joined their groups", func() (bool, string) {
		n := metric(tb, beHTTP, "dorisgo_be_group_commit_loads_total")
		return n == strconv.Itoa(asyncRows+syncClients), n
	})
	return p
}

// syncClient sends one statement that waits for its group.
func (p *pending) syncClient(id int64, prepared bool) {
	e := &entry{first: id, rows: 1, what: "sync"}
	p.ledger.add(e)
	a := p.address
	a.Params = map[string]string{"group_commit": "'sync_mode'"}
	db, conn, err := dial(a)
	if err != nil {
		p.answer(e, "sync", err)
		return
	}
	defer db.Close()
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	stmt, err := conn.PrepareContext(ctx, "INSERT INTO t (id) VALUES (?)")
	if err == nil {
		if prepared {
			_, err = stmt.ExecContext(ctx, id)
		} else {
			_, err = conn.ExecContext(ctx, fmt.Sprintf("INSERT INTO t (id) VALUES (%d)", id))
		}
	}
	p.answer(e, "sync", err)
}

// upload is a Stream Load whose body does not end.
func (p *pending) upload(port int, id int64, body io.Reader) {
	e := &entry{first: id, rows: 1, what: "upload"}
	p.ledger.add(e)
	ctx, cancel := context.WithTimeout(context.Background(), 2*statementTime)
	defer cancel()
	r, err := streamLoad(ctx, port, "stop", "t", body, "columns", "id", "group_commit", "async_mode")
	if err == nil && r.Status != "Success" {
		err = fmt.Errorf("%s: %s", r.Status, r.Message)
	}
	p.answer(e, "upload", err)
}

// answer notes how a request ended; cut are those without an answer.
func (p *pending) answer(e *entry, what string, err error) {
	p.ledger.mu.Lock()
	if e.acked = err == nil; !e.acked {
		e.err = err.Error()
	}
	p.ledger.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch _, ok := errors.AsType[*mysql.MySQLError](err); {
	case err == nil:
		p.answers[what+": success"]++
	case ok:
		p.answers[what+": "+err.Error()]++
	default:
		p.answers[what+": no answer"]++
		p.cut = append(p.cut, what+": "+err.Error())
	}
}

func (p *pending) end() {
	for _, b := range p.bodies {
		b.Close()
	}
	p.waiting.Wait()
	p.uploads.Wait()
}

// checkAnswered: each sync client heard success or an error of the server; all
// of them success if the FE stays.
func (p *pending) checkAnswered(success bool) {
	p.tb.Helper()
	p.waiting.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tb.Logf("answers: %v", p.answers)
	for _, c := range p.cut {
		if c[:4] == "sync" {
			p.tb.Errorf("a waiting client got no answer: %s", c)
		}
	}
	if n := p.answers["sync: success"]; success && n != syncClients {
		p.tb.Errorf("%d of %d waiting clients heard success", n, syncClients)
	}
}

// checkRows: after a restart what was acknowledged is there.
func (p *pending) checkRows() {
	p.tb.Helper()
	p.end()
	s := connect(p.tb, p.address)
	var wrong []string
	eventually(p.tb, settleTime, "acknowledged rows are there", func() (bool, string) {
		rows, err := s.try("SELECT id FROM t")
		if err != nil {
			return false, err.Error()
		}
		var ids []int64
		for _, r := range rows {
			ids = append(ids, number(p.tb, r[0]))
		}
		var missing bool
		wrong, missing = p.ledger.check(ids)
		return !missing, fmt.Sprint(wrong)
	})
	for _, w := range wrong {
		p.tb.Error(w)
	}
}

// TestStopStandalone: SIGTERM with work under way, once and twice.
func TestStopStandalone(t *testing.T) {
	t.Parallel()
	for _, signals := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d signals", signals), func(t *testing.T) {
			a := startAlone(t)
			p := openWork(t, a.address(""), a.beHTTP)
			start := time.Now()
			for range signals {
				a.signal(syscall.SIGTERM)
			}
			if code := a.wait(stopTime); code != 0 {
				t.Errorf("exit code %d", code)
			}
			t.Logf("stopped in %s", time.Since(start).Round(time.Millisecond))
			p.checkAnswered(true)
			a.start()
			p.checkRows()
			a.stop()
		})
	}
}

// TestStopCluster: SIGTERM of a BE with work under way: alone, together with its
// FE, and without an FE that could commit its groups.
func TestStopCluster(t *testing.T) {
	t.Parallel()
	for _, frontend := range []string{"stays", "stops too", "is gone"} {
		t.Run("FE "+frontend, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, 1)
			p := openWork(t, c.address(""), c.be[0].http)
			start := time.Now()
			if frontend == "is gone" {
				c.fe.kill()
			}
			c.be[0].signal(syscall.SIGTERM)
			if frontend == "stops too" {
				c.fe.signal(syscall.SIGTERM)
				if code := c.fe.wait(stopTime); code != 0 {
					t.Errorf("exit code %d of the FE", code)
				}
			}
			if code := c.be[0].wait(stopTime); code != 0 {
				t.Errorf("exit code %d of the BE", code)
			}
			t.Logf("stopped in %s", time.Since(start).Round(time.Millisecond))
			switch frontend {
			case "stays":
				p.checkAnswered(true)
			case "stops too":
				p.checkAnswered(false)
				c.fe.start()
			case "is gone":
				c.fe.start()
			}
			c.be[0].start()
			p.checkRows()
		})
	}
}

// TestStopUnderLoad: SIGTERM while clients insert in all modes and read: a
// statement ends with an answer, and nothing acknowledged is lost.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	createCrashTables(connect(t, a.address("")), 2, 1)
	c := &crashed{tb: t, address: a.address("crash"), wals: a.wals, aside: a.aside, http: func() []int { return []int{a.beHTTP} }}
	s := seed(t)
	for round := range rounds(t) {
		w := startWorkload(t, s, round, c.address, c.http(), false, crashTables...)
		read := startReaders(t, c.address, 4)
		time.Sleep(400 * time.Millisecond) // clients are at work
		start := time.Now()
		a.stop()
		t.Logf("stopped in %s", time.Since(start).Round(time.Millisecond))
		w.stop()
		w.wait(t)
		read()
		a.start()
		there := map[int64]bool{}
		for _, id := range c.settle(round, w.ledger) {
			there[id] = true
		}
		answers := map[string]int{}
		for _, e := range w.ledger.entries {
			answers[e.err]++
			// A statement may meet a connection that the server has closed. One
			// that was carried out has to be answered.
			if !e.acked && !strings.HasPrefix(e.err, "Error ") && there[e.first] {
				t.Errorf("%s: carried out without an answer: %s", e.what, e.err)
			}
		}
		t.Logf("answers: %v", answers)
	}
	c.finish()
}

// startReaders starts clients that read in a loop until their connection ends;
// the function waits for them.
func startReaders(tb testing.TB, a client.Address, n int) func() {
	tb.Helper()
	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	tb.Cleanup(cancel)
	for range n {
		wg.Go(func() {
			db, conn, err := dial(a)
			if err != nil {
				return
			}
			defer db.Close()
			defer conn.Close()
			for err == nil {
				_, err = client.Run(ctx, conn, "SELECT COUNT(*), MAX(note) FROM fast")
			}
		})
	}
	return wg.Wait
}
