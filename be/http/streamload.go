package behttp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"dorisgo/doriserr"
	"dorisgo/load"
	"dorisgo/load/errlog"
)

// streamLoad answers PUT /api/{db}/{table}/_stream_load.
func (s *Server) streamLoad(w http.ResponseWriter, r *http.Request) {
	s.serveLoad(w, r, func(r *http.Request, l Limits) (h *head, db, table string, err error) {
		h, err = parseHead(r.Header, l)
		return h, r.PathValue("db"), r.PathValue("table"), err
	})
}

// serveLoad answers a load; parse reads what its request asks for.
func (s *Server) serveLoad(w http.ResponseWriter, r *http.Request, parse func(*http.Request, Limits) (h *head, db, table string, err error)) {
	start := time.Now()
	s.m.requests.Inc()
	l := &request{s: s, r: r, parse: parse, limits: s.o.Limits(), length: r.ContentLength, out: outcome{status: statusSuccess, message: "OK"}}
	if len(r.TransferEncoding) > 0 {
		l.length = -1
	}
	rand.Read(l.id[:])
	status := http.StatusOK
	if !s.enter() {
		l.out.fail(doriserr.New(doriserr.ExceededLimit, "too many open loads on this backend, try again later"))
	} else {
		s.m.current.Inc()
		status = l.run(w)
		s.m.current.Dec()
		s.leave()
	}
	o := &l.out
	o.total = time.Since(start)
	s.m.duration.Observe(float64(o.total.Milliseconds()))
	s.m.bytes.Add(float64(o.received))
	s.m.rows.Add(float64(o.counts.Loaded))
	s.m.results.WithLabelValues(o.status).Inc()
	l.finished(start)
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="dorisgo"`)
	}
	l.answer(w, status, o.json())
}

// deadlineSlack is by how much the connection's deadline is later than a load's.
const deadlineSlack = 200 * time.Millisecond

// request is one load from its head to its reply. One goroutine uses it.
type request struct {
	s      *Server
	r      *http.Request
	limits Limits
	id     [16]byte
	length int64 // -1 for a chunked body
	// unframed is a body whose end nobody knows: what follows on the connection
	// is no request.
	unframed bool
	login    login
	admitted bool // its login is good
	parse    func(*http.Request, Limits) (h *head, db, table string, err error)
	head     *head
	// db and table are the names that the load is for.
	db, table string
	plan      *Plan
	body      *received
	// input is the body, or what is left of it with what was read before.
	input io.Reader
	// unpack is closed at the end if the input was unpacked before its decoder
	// was made.
	unpack io.Closer
	out    outcome
}

// run does the load and fills in the outcome; it returns the HTTP status.
func (l *request) run(w http.ResponseWriter) int {
	ctx := l.r.Context()
	if err := l.checkHead(); err != nil {
		l.out.fail(err)
		return http.StatusOK
	}
	if err := l.authenticate(ctx); err != nil {
		l.out.fail(err)
		if doriserr.Is(err, doriserr.AccessDenied) {
			return http.StatusUnauthorized
		}
		return http.StatusOK
	}
	l.admitted = true
	ctx, cancel := context.WithTimeout(ctx, l.head.timeout)
	defer cancel()
	// The whole load has one deadline; a body that is slow meets it while it is
	// read.
	deadline, _ := ctx.Deadline()
	// A little later than ctx, since a read that meets its deadline cancels the
	// request's context. Without a connection (tests) ctx alone bounds the load.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(deadline.Add(deadlineSlack))
	// A load that has failed meanwhile waits no longer for a sender who pauses.
	l.body.interrupt = func() { _ = rc.SetReadDeadline(time.Now().Add(l.limits.DrainIdle)) }
	if err := l.load(ctx); err != nil {
		switch {
		case doriserr.Is(err, doriserr.Unknown):
			// It may have happened: never Fail (docs/protocol.md, rule 5).
			l.out.status, l.out.message, l.out.counts.Loaded = statusUnknown, message(err), 0
		case errors.Is(err, context.DeadlineExceeded), !time.Now().Before(deadline) && errors.Is(err, context.Canceled):
			l.out.fail(doriserr.New(doriserr.Timeout, "load timeout: the load took longer than %s, see header timeout", l.head.timeout))
		default:
			l.out.fail(err)
		}
	}
	return http.StatusOK
}

// checkHead checks everything that needs neither login nor table.
func (l *request) checkHead() error {
	h, db, table, err := l.parse(l.r, l.limits)
	l.head, l.db, l.table = h, db, table
	l.out.label, l.out.comment, l.out.twoPhase = h.label, h.comment, h.twoPhase
	if err != nil {
		return err
	}
	if l.length == 0 && l.r.Header.Get("Content-Length") == "" {
		l.unframed = true
		return invalid("content_length is empty and transfer-encoding!=chunked, please set content_length or transfer-encoding=chunked")
	}
	key, mb := l.limits.bodyLimit(h)
	if l.length > mb<<20 {
		return tooLargeError(key, l.length, mb)
	}
	l.body = &received{
		r: l.r.Body, announced: l.length >= 0, limit: mb << 20,
		tooLarge: func(n int64) error { return tooLargeError(key, n, mb) },
	}
	l.input = l.body
	return nil
}

func (l *request) authenticate(ctx context.Context) error {
	l.login = loginOf(l.r)
	if !l.login.ok {
		return doriserr.New(doriserr.AccessDenied, "no valid Basic authorization")
	}
	return l.s.o.Loader.Authenticate(ctx, l.login.user, l.login.password, l.login.token)
}

// load plans, reads and writes.
func (l *request) load(ctx context.Context) error {
	planned := time.Now()
	p, err := l.s.o.Loader.Plan(ctx, l.login.user, l.db, l.table)
	l.out.plan = time.Since(planned)
	if err != nil {
		return err
	}
	l.plan = p
	if err := checkTable(l.head, p); err != nil {
		return err
	}
	if l.head.parquet && l.s.o.Spool == nil {
		return unsupported("format parquet is not supported by this backend")
	}
	m, err := l.mapping(ctx, planned)
	if l.unpack != nil {
		defer func() { _ = l.unpack.Close() }() // its errors were met by reading
	}
	if err != nil {
		return err
	}
	way := modeOf(l.head, p, l.length)
	if way.group && p.Blocked {
		return doriserr.New(doriserr.Blocked, "insert table %d is blocked on schema change", p.Table.ID)
	}
	if l.head.label == "" {
		l.head.label = newLabel(l.id)
	}
	log := l.s.o.Errors.New(l.db, l.head.label, l.id)
	defer log.Close()
	share := l.s.budget.share()
	defer share.release()
	src, err := l.newSource(ctx, m, share, log)
	if err != nil {
		return err
	}
	defer src.close()
	if way.group {
		err = l.group(ctx, src, way)
	} else {
		err = l.normal(ctx, src)
	}
	l.out.counts = src.rows.Counts()
	l.out.received, l.out.read = l.body.bytes, l.body.spent
	l.out.firstError = src.rows.FirstError()
	if name := log.Name(); name != "" {
		l.out.errorURL = fmt.Sprintf("http://%s/api/_load_error_log?file=%s", l.s.o.Advertise, name)
	}
	return err
}

func (l *request) mapping(ctx context.Context, now time.Time) (*load.Mapping, error) {
	o := load.MappingOptions{
		Columns: l.head.columns, Derived: l.head.derived, Where: l.head.where, Strict: l.head.strict, Location: l.head.location,
		Now: now, StringLimit: l.limits.StringLimit,
		Compile: func(s *load.ProgramSpec) (*load.Program, error) { return l.s.o.Compile(ctx, s) },
	}
	if o.Location == nil {
		o.Location = l.plan.Location
	}
	if l.head.statement != nil {
		return l.statementMapping(ctx, o)
	}
	if n := len(l.head.jsonForm.Paths); n > 0 && o.Columns == nil {
		all := l.plan.Table.Columns
		if n > len(all) {
			return nil, invalid("Invalid jsonpaths: %d paths for the %d columns of the table", n, len(all))
		}
		for _, c := range all[:n] {
			o.Columns = append(o.Columns, c.Name)
		}
	}
	return load.NewMapping(l.plan.Table, o)
}

// normal runs the load as a transaction of its own.
func (l *request) normal(ctx context.Context, src *source) error {
	src.rows.StopEarly(l.head.ratio == 0)
	src.enforce = func(load.Counts) bool { return true }
	src.tooMany = func(string) error { return doriserr.New(doriserr.DataQuality, "too many filtered rows") }
	l.out.label = l.head.label
	writing := time.Now()
	res, err := l.s.o.Loader.Normal(ctx, &NormalLoad{
		Plan: l.plan, Label: l.head.label, RequestID: l.id, TwoPhase: l.head.twoPhase, Timeout: l.head.timeout, Blocks: src,
		Counts: func() (loaded, filtered int64) {
			c := src.rows.Counts()
			return c.Loaded, c.Filtered
		},
		ClientAddr: l.r.RemoteAddr,
	})
	l.out.txnID, l.out.begin, l.out.commit = res.TxnID, res.BeginTime, res.CommitTime
	l.out.write = max(0, time.Since(writing)-l.body.spent-res.BeginTime-res.CommitTime)
	if err != nil {
		return err
	}
	if !res.Visible && !l.head.twoPhase {
		l.out.status, l.out.message = statusPublishTimeout, publishTimeoutText
	}
	return nil
}

// group collects the body and adds it to a group. A load without rows is a
// normal load: there is nothing to merge, and its label is taken as elsewhere.
func (l *request) group(ctx context.Context, src *source, way mode) error {
	l.out.group = true
	memoryRows := l.limits.MemoryRows
	src.enforce = func(c load.Counts) bool { return c.Total <= memoryRows }
	src.tooMany = func(first string) error {
		return doriserr.New(doriserr.DataQuality, "too many filtered rows, %s", first)
	}
	limit := l.limits.groupBytes(int64(l.plan.Table.Props.GroupCommitDataBytes), l.s.budget.total)
	b, whole, err := src.collect(ctx, limit, l.length)
	if err != nil {
		return err
	}
	if whole {
		if err := src.verdict(); err != nil {
			return err
		}
		if b.Rows() == 0 {
			l.out.group = false
			return l.normal(ctx, src)
		}
	}
	g := &GroupLoad{Plan: l.plan, RequestID: l.id, Async: way.async, ContentLength: l.length}
	if whole {
		g.Block, g.Admitted = b, src.share.release
	} else {
		g.Async, g.Own = false, src
		if way.async && b.Bytes() < limit {
			way.switched = "memory"
		} else if way.async {
			way.switched = "size"
		}
		src.first = b
	}
	writing := time.Now()
	res, err := l.s.o.Loader.GroupCommit(ctx, g)
	l.out.write = time.Since(writing)
	l.out.label, l.out.txnID = res.Label, res.TxnID
	if err != nil {
		return err
	}
	l.groupDone(src, res, way)
	return nil
}

func (l *request) groupDone(src *source, res GroupResult, way mode) {
	if c := src.rows.Counts(); c.TooMany(l.head.ratio) {
		l.out.message = fmt.Sprintf("OK, max_filter_ratio was not enforced: the load has more than %d rows (group_commit_memory_rows_for_max_filter_ratio)", l.limits.MemoryRows)
	}
	if way.async && !res.Async && way.switched == "" {
		way.switched = "wal_space"
	}
	if way.switched != "" {
		l.s.m.switched.WithLabelValues(way.switched).Inc()
	}
	if !res.Async && !res.Visible {
		l.out.status, l.out.message = statusPublishTimeout, publishTimeoutText
	}
}

// newLabel is a label for a load without one: a UUID made of its id.
func newLabel(id [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

var _ load.ErrorSink = (*errlog.Log)(nil)

// answer writes the reply so that the client sees it even if it is still
// sending: a small rest of the body is read first, and the connection lives on;
// otherwise the reply goes out at once, the connection is to end, and what the
// client sends meanwhile is drained within bounds. A client that still waits for
// 100 Continue never gets it: package http sends none after the reply.
func (l *request) answer(w http.ResponseWriter, status int, body []byte) {
	if l.unframed {
		w.Header().Set("Connection", "close")
	}
	if l.body != nil && l.body.ended || l.r.Body == http.NoBody {
		writeJSON(w, status, body)
		return
	}
	rc := http.NewResponseController(w)
	waits := l.r.Header.Get("Expect") != "" && (l.body == nil || !l.body.touched)
	if !waits && l.length >= 0 && l.length <= smallBody && drain(l.r.Body, rc, smallBody+1, time.Now().Add(l.limits.DrainIdle), l.limits.DrainIdle) {
		writeJSON(w, status, body)
		return
	}
	duplex := rc.EnableFullDuplex() == nil
	w.Header().Set("Connection", "close")
	writeJSON(w, status, body)
	if duplex && rc.Flush() == nil {
		drain(l.r.Body, rc, l.limits.DrainBytes, time.Now().Add(l.limits.DrainTime), l.limits.DrainIdle)
	}
}
