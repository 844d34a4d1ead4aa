package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"dorisgo/client"
)

// entry is one INSERT of a client: its rows have the ids first, first+1, …
type entry struct {
	first int64
	rows  int
	acked bool
	// what is the way it went, for messages.
	what string
	// err is why it was not acknowledged.
	err string
}

// ledger is what the clients of one round sent. It is safe for concurrent use.
type ledger struct {
	mu      sync.Mutex
	entries []*entry
	acked   atomic.Int64
}

func (l *ledger) add(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
}

// check compares the ids found in the tables with what was sent: acknowledged
// rows once, the rows of any other statement all once or not at all. It returns
// what is wrong, and whether rows are only missing so far.
func (l *ledger) check(found []int64) (wrong []string, missing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := make(map[int64]int, len(found))
	for _, id := range found {
		count[id]++
	}
	for _, e := range l.entries {
		have, double := 0, false
		for id := e.first; id < e.first+int64(e.rows); id++ {
			n := count[id]
			delete(count, id)
			have += n
			double = double || n > 1
		}
		state := "acknowledged"
		if !e.acked {
			state = "not acknowledged (" + e.err + ")"
		}
		switch {
		case double:
			wrong = append(wrong, fmt.Sprintf("%s, %s: %d rows from id %d are there %d times", e.what, state, e.rows, e.first, have))
		case e.acked && have < e.rows:
			missing = true
			wrong = append(wrong, fmt.Sprintf("%s, %s: %d of %d rows from id %d are there", e.what, state, have, e.rows, e.first))
		case have > 0 && have < e.rows:
			wrong = append(wrong, fmt.Sprintf("%s, %s: %d of %d rows from id %d are there: a statement is whole or not at all", e.what, state, have, e.rows, e.first))
		}
	}
	for id, n := range count {
		wrong = append(wrong, fmt.Sprintf("id %d is there %d times, and nobody sent it", id, n))
	}
	return wrong, missing
}

// workload is clients that insert until they are told to stop.
type workload struct {
	address client.Address
	// tables take turns over the clients.
	tables []string
	round  int
	ledger *ledger
	// reconnect lets clients go on after a lost connection; else they end.
	reconnect bool

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
}

const (
	// clients speak the MySQL protocol, loaders send Stream Loads.
	clients = 50
	loaders = 4
	// clientIDs and roundIDs are how many ids a client and a round may use.
	clientIDs = 1_000_000
	roundIDs  = 100 * clientIDs
)

// startWorkload starts the clients: 70 % async, 20 % sync, 10 % without group
// commit; half of each in text, half prepared; and loaders at the BEs' HTTP
// ports, async and sync.
func startWorkload(tb testing.TB, seed uint64, round int, a client.Address, http []int, reconnect bool, tables ...string) *workload {
	tb.Helper()
	w := &workload{address: a, tables: tables, round: round, ledger: &ledger{}, reconnect: reconnect}
	w.ctx, w.stop = context.WithCancel(context.Background())
	tb.Cleanup(w.stop)
	for c := range clients {
		mode := "async_mode"
		switch c % 10 {
		case 7, 8:
			mode = "sync_mode"
		case 9:
			mode = "off_mode"
		}
		in := &inserter{
			workload: w, mode: mode, prepared: c/10%2 == 0, table: tables[c%len(tables)],
			next: int64(round)*roundIDs + int64(c)*clientIDs, rand: rand.New(rand.NewPCG(seed, uint64(round*clients+c))),
		}
		w.wg.Go(func() { in.run(in.connection) })
	}
	for c := range loaders {
		in := &inserter{
			workload: w, mode: []string{"async_mode", "sync_mode"}[c%2], table: tables[c/2%len(tables)],
			next: int64(round)*roundIDs + int64(clients+c)*clientIDs, rand: rand.New(rand.NewPCG(seed, uint64(round*clients+c)+1<<32)),
		}
		w.wg.Go(func() { in.run(func() { in.loads(http[c%len(http)]) }) })
	}
	return w
}

// wait waits until all clients ended; one that hangs is a failure.
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

// inserter is one client.
type inserter struct {
	*workload
	mode     string
	prepared bool
	table    string
	next     int64
	rand     *rand.Rand
}

// run inserts over one connection after the other.
func (in *inserter) run(connection func()) {
	for in.ctx.Err() == nil {
		connection()
		if !in.reconnect {
			return
		}
		select {
		case <-in.ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// connection inserts until the connection is lost or the workload stops.
func (in *inserter) connection() {
	a := in.address
	a.Params = map[string]string{"group_commit": "'" + in.mode + "'"}
	db, conn, err := dial(a)
	if err != nil {
		return
	}
	defer db.Close()
	defer conn.Close()
	stmts := map[int]*sql.Stmt{}
	for in.ctx.Err() == nil {
		e := in.entry(fmt.Sprintf("%s, prepared %t, %s", in.mode, in.prepared, in.table))
		err := in.insert(conn, stmts, e)
		in.answered(e, err)
		if err != nil {
			if _, ok := errors.AsType[*mysql.MySQLError](err); !ok {
				return
			}
			// The server answers, so it is worth another statement.
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// entry is the next statement, in the ledger before it is sent.
func (in *inserter) entry(what string) *entry {
	e := &entry{first: in.next, rows: 1 + in.rand.IntN(3), what: what}
	in.next += int64(e.rows)
	in.ledger.add(e)
	return e
}

func (in *inserter) answered(e *entry, err error) {
	in.ledger.mu.Lock()
	defer in.ledger.mu.Unlock()
	if err != nil {
		e.err = err.Error()
		return
	}
	e.acked = true
	in.ledger.acked.Add(1)
}

// loads sends Stream Loads until the BE does not answer or the workload stops.
func (in *inserter) loads(port int) {
	for in.ctx.Err() == nil {
		e := in.entry(in.mode + ", Stream Load, " + in.table)
		var b strings.Builder
		for id := e.first; id < e.first+int64(e.rows); id++ {
			fmt.Fprintf(&b, "%d,%d,note %d\n", id, in.round, id)
		}
		ctx, cancel := context.WithTimeout(context.Background(), statementTime)
		r, err := streamLoad(ctx, port, "crash", in.table, strings.NewReader(b.String()), "column_separator", ",", "group_commit", in.mode)
		cancel()
		lost := err != nil
		if err == nil && r.Status != "Success" {
			err = fmt.Errorf("%s: %s", r.Status, r.Message)
		}
		in.answered(e, err)
		if lost {
			return
		}
		if err != nil {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func (in *inserter) insert(conn *sql.Conn, stmts map[int]*sql.Stmt, e *entry) error {
	// A client that is told to stop still waits for its answer.
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO %s (id, round, note) VALUES ", in.table)
	var args []any
	for i := range e.rows {
		if i > 0 {
			b.WriteString(", ")
		}
		id := e.first + int64(i)
		if in.prepared {
			b.WriteString("(?, ?, ?)")
			args = append(args, id, in.round, fmt.Sprintf("note %d", id))
		} else {
			fmt.Fprintf(&b, "(%d, %d, 'note %d')", id, in.round, id)
		}
	}
	if !in.prepared {
		_, err := conn.ExecContext(ctx, b.String())
		return err
	}
	p := stmts[e.rows]
	if p == nil {
		var err error
		if p, err = conn.PrepareContext(ctx, b.String()); err != nil {
			return err
		}
		stmts[e.rows] = p
	}
	_, err := p.ExecContext(ctx, args...)
	return err
}
