package clustertest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	// statementTime is how long a client waits for one answer.
	statementTime = 60 * time.Second
	// idsPerClient keeps the ids of the clients apart.
	idsPerClient = 100_000_000
	// maxLoads bounds the loads of one client.
	maxLoads = 100_000
)

// sender sends one load and returns nil if it was acknowledged.
type sender interface {
	send(ctx context.Context, e *entry) error
	close()
}

// group is some clients that work alike.
type group struct {
	mode    string
	clients int
	// pause is the time between the starts of a client's loads.
	pause time.Duration
	make  func(*cluster) sender
}

// groups are all clients: 34 of them.
var groups = []group{
	{"insert async", 12, 50 * time.Millisecond, inserts("async_mode")},
	{"insert sync", 6, 50 * time.Millisecond, inserts("sync_mode")},
	{"insert off", 3, 250 * time.Millisecond, inserts("off_mode")},
	{"stream async", 6, 50 * time.Millisecond, streams("async_mode", false)},
	{"stream sync", 4, 50 * time.Millisecond, streams("sync_mode", false)},
	{"stream label", 3, 250 * time.Millisecond, streams("off_mode", true)},
}

// workload is clients that load until they are told to stop.
type workload struct {
	*ledger
	stop context.CancelFunc
	wg   sync.WaitGroup
}

func startWorkload(tb testing.TB, c *cluster, seed uint64) *workload {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	tb.Cleanup(cancel)
	w := &workload{ledger: newLedger(), stop: cancel}
	number := 0
	for _, g := range groups {
		for range g.clients {
			r := rand.New(rand.NewPCG(seed, uint64(1+number)))
			first := int64(number) * idsPerClient
			number++
			w.wg.Go(func() { w.client(ctx, g, g.make(c), r, first) })
		}
	}
	return w
}

// client sends one load after the other.
func (w *workload) client(ctx context.Context, g group, s sender, r *rand.Rand, id int64) {
	defer s.close()
	pace := time.NewTicker(g.pause)
	defer pace.Stop()
	for range maxLoads {
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return
		}
		e := &entry{mode: g.mode, first: id, rows: 1 + r.IntN(3)}
		id += int64(e.rows)
		w.add(e)
		start := time.Now()
		// A client that is told to stop still waits for its answer.
		err := s.send(context.WithoutCancel(ctx), e)
		w.done(e, time.Since(start), err)
	}
}

// wait waits for the clients' last answers.
func (w *workload) wait(tb testing.TB) {
	tb.Helper()
	done := make(chan struct{})
	go func() {
		w.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(2 * statementTime):
		tb.Fatal("a client hangs")
	}
}

// note is the second column of the row with the id.
func note(id int64) string { return fmt.Sprintf("note %d", id) }

// inserter sends INSERTs as text over one connection, which it renews when it
// is lost.
type inserter struct {
	db   *sql.DB
	conn *sql.Conn
}

func inserts(mode string) func(*cluster) sender {
	return func(c *cluster) sender {
		return &inserter{db: c.open(database, map[string]string{"group_commit": "'" + mode + "'"})}
	}
}

func (in *inserter) send(ctx context.Context, e *entry) error {
	ctx, cancel := context.WithTimeout(ctx, statementTime)
	defer cancel()
	if in.conn == nil {
		var err error
		if in.conn, err = in.db.Conn(ctx); err != nil {
			return fmt.Errorf("connect: %w", err)
		}
	}
	var b strings.Builder
	for i := range int64(e.rows) {
		if i == 0 {
			b.WriteString("INSERT INTO " + table + " (id, note) VALUES ")
		} else {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "(%d, '%s')", e.first+i, note(e.first+i))
	}
	_, err := in.conn.ExecContext(ctx, b.String())
	if _, answered := errors.AsType[*mysql.MySQLError](err); err != nil && !answered {
		in.conn.Close()
		in.conn = nil
	}
	return err
}

func (in *inserter) close() {
	if in.conn != nil {
		in.conn.Close()
	}
	in.db.Close()
}
