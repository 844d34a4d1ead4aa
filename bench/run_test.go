package bench

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var brief = Options{Warmup: 20 * time.Millisecond, Duration: 100 * time.Millisecond, MaxStatements: 1e6, Seed: 1, VisibleWait: time.Second}

func TestRun(t *testing.T) {
	for _, c := range []Case{
		{Protocol: Text, Mode: Async, Connections: 1, Rows: 1},
		{Protocol: Text, Mode: Sync, Connections: 7, Rows: 100},
		{Protocol: Prepared, Mode: Async, Connections: 5, Rows: 1},
		{Protocol: Prepared, Mode: Async, Connections: 5, Rows: 100},
		{Protocol: StreamLoad, Mode: Async, Connections: 5, Rows: 10},
		{Protocol: StreamLoad, Mode: Off, Connections: 2, Rows: 1},
	} {
		for _, table := range Tables {
			c.Table, c.Interval = table, 10*time.Millisecond
			t.Run(c.Protocol+" "+c.Mode+" "+table.Name, func(t *testing.T) {
				f := &fake{}
				fe, _ := f.serveHTTP(t)
				target := Target{Name: "fake", Doris: true, Login: Login{Addr: f.serve(t), User: "root"}, HTTP: fe}
				var r *Result
				measured(func(d time.Duration) bool {
					f.rows.Store(0)
					o, err := brief, error(nil)
					o.Duration = d
					if r, err = Run(t.Context(), target, c, o); err != nil {
						t.Fatal(err)
					}
					return r.Tally.Statements > 0
				})
				if !r.Verified || r.Tally.Errors > 0 || r.Tally.Unknown > 0 || r.Counted != f.rows.Load() {
					t.Errorf("%s, counted %d, there are %d", r, r.Counted, f.rows.Load())
				}
				if r.Tally.Statements == 0 || r.Tally.Rows != r.Tally.Statements*int64(c.Rows) || r.Tally.Latency.Count() != r.Tally.Statements {
					t.Errorf("%d statements, %d rows, %d latencies", r.Tally.Statements, r.Tally.Rows, r.Tally.Latency.Count())
				}
				if c.Protocol != StreamLoad && !f.saw("SET group_commit = "+c.Mode+"_mode") {
					t.Error("the mode was not set")
				}
				if c.Protocol == StreamLoad && f.saw(" "+c.Mode+"_mode") != (c.Mode != Off) {
					t.Error("wrong header group_commit")
				}
				first := binary.LittleEndian.AppendUint32(nil, uint32(NewGenerator(table, brief.Seed).Next()[0].num))
				if c.Protocol == Prepared && !f.saw(fmt.Sprintf("execute 3 %x", first)) {
					t.Errorf("the first row's first parameter did not come: %q", f.seen[:min(9, len(f.seen))])
				}
				if !f.saw(`"group_commit_interval_ms" = "10"`) || !f.saw("DROP TABLE dorisgo_bench.t") {
					t.Errorf("table not made or not dropped: %q", f.seen[:3])
				}
			})
		}
	}
}

// measured runs a measurement of a short time, and of more while it saw no
// answer: on a busy machine a moment may pass without any.
func measured(run func(time.Duration) bool) {
	for d := 100 * time.Millisecond; !run(d) && d < 10*time.Second; {
		d *= 4
	}
}

func TestRunCountsRefusals(t *testing.T) {
	f := &fake{refuse: 3}
	_, be := f.serveHTTP(t)
	// Long enough for a statement on a machine that is busy with other tests.
	o := brief
	o.Duration = 500 * time.Millisecond
	for _, p := range []string{Text, Prepared, StreamLoad} {
		f.rows.Store(0)
		c := Case{Table: Tables[0], Mode: Async, Protocol: p, Connections: 4, Rows: 2}
		r, err := Run(t.Context(), Target{Name: "fake", Doris: true, Login: Login{Addr: f.serve(t), User: "root"}, HTTP: be}, c, o)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Verified || r.Tally.Errors == 0 || len(r.Tally.Texts) != 1 {
			t.Errorf("%s: %s %v", p, r, r.Tally.Texts)
		}
		for text := range r.Tally.Texts {
			if !strings.Contains(text, "too many") {
				t.Errorf("%s: %q", p, text)
			}
		}
	}
}

// A table that lacks acknowledged rows, or has more, is told.
func TestRunSeesWrongCounts(t *testing.T) {
	for _, hide := range []int64{1, -1} {
		f := &fake{}
		f.hide.Store(hide)
		o := brief
		o.VisibleWait = 60 * time.Millisecond
		c := Case{Table: Tables[0], Mode: Async, Protocol: Text, Connections: 2, Rows: 1, Interval: time.Millisecond}
		r, err := Run(t.Context(), Target{Name: "fake", Doris: true, Login: Login{Addr: f.serve(t), User: "root"}}, c, o)
		if err != nil {
			t.Fatal(err)
		}
		rep := Report{Results: []*Result{r}}
		if r.Verified || rep.Verified() || !strings.HasPrefix(r.checked(), "WRONG") {
			t.Errorf("hide %d: %s", hide, r)
		}
	}
}

func TestRunIsBounded(t *testing.T) {
	f := &fake{}
	o := brief
	o.MaxStatements, o.Duration = 50, time.Second
	c := Case{Table: Tables[0], Mode: Async, Protocol: Text, Connections: 4, Rows: 1}
	r, err := Run(t.Context(), Target{Name: "fake", Doris: true, Login: Login{Addr: f.serve(t), User: "root"}}, c, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Tally.AllStatements != 50 || !r.Limited || !r.Verified {
		t.Errorf("%d statements, %s", r.Tally.AllStatements, r)
	}
}

func TestSuiteAlternatesAndReports(t *testing.T) {
	a, b := &fake{}, &fake{}
	aAddr, bAddr := a.serve(t), b.serve(t)
	_, http := a.serveHTTP(t)
	var order []string
	s := Suite{
		Targets: []Target{
			{Name: "ours", Doris: true, Login: Login{Addr: aAddr, User: "root"}, HTTP: http},
			{Name: "theirs", Login: Login{Addr: bAddr, User: "root"}},
		},
		Cases:  Cases(Tables[:1], []string{Sync}, []string{Text, StreamLoad}, []int{1}, []int{1, 4}, 10*time.Millisecond),
		Rounds: 2, Options: brief,
		Progress: func(r *Result) {
			order = append(order, r.Target)
			// The fakes' rows are not dropped with their tables.
			a.rows.Store(0)
			b.rows.Store(0)
		},
	}
	var results []*Result
	measured(func(d time.Duration) bool {
		var err error
		order, s.Options.Duration = nil, d
		if results, err = s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(results, func(r *Result) bool { return r.Tally.Statements == 0 })
	})
	if got := strings.Join(order, " "); got != "ours theirs theirs ours ours theirs theirs ours ours ours ours ours" {
		t.Errorf("order %s", got)
	}
	if !b.saw("ENGINE=InnoDB") || b.saw("group_commit") {
		t.Error("the other server was asked for the wrong things")
	}
	rep := Report{Results: results, Other: "theirs"}
	var text, md, lines bytes.Buffer
	for name, w := range map[string]*bytes.Buffer{"text": &text, "markdown": &md, "json": &lines} {
		if err := Formats[name](&rep, w); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"ours sync text, int, varchar, int, 4 connections, 1 rows:", "times theirs's rows/s (rounds ", "sync 10ms", "= acked", " %"} {
		if !strings.Contains(text.String(), want) || !strings.Contains(md.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	n := 0
	for line := range bytes.Lines(lines.Bytes()) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 12+2 {
		t.Errorf("%d lines of JSON", n)
	}
}
