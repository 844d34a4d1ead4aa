package behttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/load/errlog"
	"dorisgo/load/loadtest"
	"dorisgo/meta"
)

// fakeLoader is a backend in memory: it keeps the rows that were acknowledged.
type fakeLoader struct {
	t      testing.TB
	tables map[string]*meta.Table
	plan   func(*Plan)

	mu     sync.Mutex
	rows   []string
	labels map[string]int64
	calls  []string
	lastTx int64

	// groupResult and normalErr change the next answers.
	groupResult GroupResult
	groupErr    error
	normal      func(context.Context, *NormalLoad) (NormalResult, error)
	// finish answers the next second phases; finished are those that came.
	finish   func(*TwoPhase) error
	finished []TwoPhase
	// hold keeps GroupCommit waiting; started hears of every call that waits.
	hold    chan struct{}
	started chan *GroupLoad
}

func (f *fakeLoader) Authenticate(_ context.Context, user, password, token string) error {
	if token == "secret-token" || user == "root" && password == "" || user == "u" && password == "p@:/%25#é" {
		return nil
	}
	return doriserr.New(doriserr.AccessDenied, "Access denied for user '%s'", user)
}

func (f *fakeLoader) Plan(_ context.Context, user, db, table string) (*Plan, error) {
	if user == "u" && table == "secret" {
		return nil, doriserr.New(doriserr.NoPrivilege, "LOAD command denied to user 'u' for table 'secret'")
	}
	t := f.tables[db+"."+table]
	if t == nil {
		return nil, doriserr.New(doriserr.UnknownTable, "unknown table, table=%s", table)
	}
	p := &Plan{DBID: 1, DBName: db, Table: t}
	if f.plan != nil {
		f.plan(p)
	}
	return p, nil
}

func (f *fakeLoader) called(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

func (f *fakeLoader) GroupCommit(ctx context.Context, l *GroupLoad) (GroupResult, error) {
	f.called("group async=%v own=%v length=%d", l.Async, l.Own != nil, l.ContentLength)
	if f.hold != nil {
		f.started <- l
		select {
		case <-f.hold:
		case <-ctx.Done():
			return GroupResult{}, ctx.Err()
		}
	}
	if f.groupErr != nil {
		return GroupResult{}, f.groupErr
	}
	var rows []string
	for b := l.Block; ; {
		if l.Own != nil {
			var err error
			if b, err = l.Own.Next(ctx); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return GroupResult{}, err
			}
		}
		rows = append(rows, loadtest.Dump(f.t, b)...)
		if l.Own == nil {
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows = append(f.rows, rows...)
	if f.groupResult.Label != "" {
		return f.groupResult, nil
	}
	return GroupResult{Label: "group_commit_0a1b2c3d4e5f6071_8293a4b5c6d7e8f9", TxnID: 81, Async: l.Async, Visible: !l.Async}, nil
}

func (f *fakeLoader) Normal(ctx context.Context, l *NormalLoad) (NormalResult, error) {
	f.called("normal %s two phases=%v", l.Label, l.TwoPhase)
	if f.normal != nil {
		return f.normal(ctx, l)
	}
	f.mu.Lock()
	if id, used := f.labels[l.Label]; used {
		f.mu.Unlock()
		return NormalResult{}, &LabelExistsError{Label: l.Label, TxnID: id, State: "VISIBLE"}
	}
	f.lastTx++
	id := f.lastTx
	f.labels[l.Label] = id
	f.mu.Unlock()
	rows, err := f.drain(ctx, l.Blocks)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		delete(f.labels, l.Label)
		return NormalResult{TxnID: id}, err
	}
	f.rows = append(f.rows, rows...)
	return NormalResult{TxnID: id, Visible: !l.TwoPhase}, nil
}

func (f *fakeLoader) FinishTwoPhase(_ context.Context, user string, p *TwoPhase) error {
	if user == "u" {
		return doriserr.New(doriserr.NoPrivilege, "LOAD command denied to user 'u' for database '%s'", p.DB)
	}
	f.mu.Lock()
	f.finished = append(f.finished, *p)
	f.mu.Unlock()
	if f.finish != nil {
		return f.finish(p)
	}
	return nil
}

func (f *fakeLoader) drain(ctx context.Context, s Blocks) (rows []string, err error) {
	for {
		var b *block.Block
		b, err = s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, loadtest.Dump(f.t, b)...)
	}
}

// taken returns and forgets the rows so far.
func (f *fakeLoader) taken() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	rows := f.rows
	f.rows = nil
	return rows
}

func (f *fakeLoader) lastCall() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.calls) == 0 {
		return ""
	}
	return f.calls[len(f.calls)-1]
}

func (f *fakeLoader) labelFree(label string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, used := f.labels[label]
	return !used
}

// rig is a server over the loopback.
type rig struct {
	t      *testing.T
	f      *fakeLoader
	s      *Server
	addr   string
	limits Limits
}

func newRig(t *testing.T, change ...func(*Options)) *rig {
	t.Helper()
	t3 := loadtest.Table(t, loadtest.T3)
	t3.Props = meta.Properties{LightSchemaChange: true, GroupCommitMode: "off_mode", GroupCommitDataBytes: 64 << 20}
	t3.Partitions = []*meta.Partition{{ID: 1, Name: "t3"}}
	f := &fakeLoader{t: t, started: make(chan *GroupLoad, 8), labels: map[string]int64{}, tables: map[string]*meta.Table{"db.t3": t3, "db.t x": t3, "db.secret": t3}}
	store, err := errlog.Open(errlog.Options{Dir: t.TempDir(), Retention: time.Hour, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, f: f, limits: DefaultLimits()}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = ln.Addr().String()
	o := Options{
		Loader: f, Errors: store, Advertise: r.addr, Logger: slog.New(slog.DiscardHandler),
		Limits: func() Limits { return r.limits },
	}
	for _, c := range change {
		c(&o)
	}
	if r.s, err = New(o); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.s.Serve(ln) }()
	t.Cleanup(func() {
		// Connections that a test left open are cut.
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = r.s.Close(ctx)
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return r
}

// reply is a decoded Stream Load reply.
type reply struct {
	code int
	text string
	load replyFields
}

type replyFields struct {
	TxnId                                                                              int64
	Label, Status, ExistingJobStatus, Message, ErrorURL, FirstErrorMsg, TwoPhaseCommit string
	GroupCommit                                                                        bool
	NumberTotalRows, NumberLoadedRows, NumberFilteredRows, NumberUnselectedRows        int64
	LoadBytes                                                                          int64
}

func (r *rig) request(method, path string, body io.Reader, headers ...string) *http.Request {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.addr+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.SetBasicAuth("root", "")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}
