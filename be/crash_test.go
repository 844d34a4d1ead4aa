package be

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dorisgo/doriserr"
	"dorisgo/groupcommit/wal"
	"dorisgo/meta"
	"dorisgo/meta/txn"
)

var update = flag.Bool("update", false, "write the golden files anew")

// asyncLoads are the loads of the script that were sent in async mode, with
// their rows.
var asyncLoads = map[int]int{2: 1, 3: 2, 4: 3, 5: 1}

// script is the life of a BE whose disk is recorded: a sync group, an async
// group, an async group whose BE dies before it is committed, and the next life,
// which takes that group over.
func script(t *testing.T, f *frontend, r *recorder) {
	ctx := t.Context()
	r.phase("start")
	n, err := startLife(ctx, f, r.fs(), firstLife)
	if err != nil {
		t.Fatal(err)
	}
	if err := makeTable(ctx, f, n); err != nil {
		t.Fatal(err)
	}
	load := func(mode int32, i, rows int) {
		t.Helper()
		reply, err := send(ctx, f, n, mode, i, rows)
		if err != nil {
			t.Fatal(err)
		}
		visible := txn.State(reply.State) == txn.Visible
		if mode == modeSync && !visible {
			t.Errorf("load %d ended as %s", i, txn.State(reply.State))
		}
		r.ack(ack{i, rows, visible})
	}
	rest := func() {
		t.Helper()
		if err := f.idle(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second) // idle groups are given up, publishes synced
	}
	rest()
	r.phase("a sync group, large enough for a file")
	load(modeSync, 1, 100)
	rest()
	r.phase("an async group of two loads")
	load(modeAsync, 2, asyncLoads[2])
	load(modeAsync, 3, asyncLoads[3])
	rest()
	r.phase("an async group whose commit is not answered")
	f.setGate(func(ctx context.Context, c meta.Command) error {
		if _, ok := c.(*meta.CommitTxn); ok {
			<-ctx.Done()
			return doriserr.Wrap(doriserr.Unknown, ctx.Err(), "the outcome is not known")
		}
		return nil
	})
	load(modeAsync, 4, asyncLoads[4])
	time.Sleep(2 * time.Second)
	r.phase("the backend dies")
	kill(n)
	f.setGate(nil)
	r.phase("the next life takes the group over")
	if n, err = startLife(ctx, f, r.fs(), secondLife); err != nil {
		t.Fatal(err)
	}
	rest()
	r.phase("an async group")
	load(modeAsync, 5, asyncLoads[5])
	rest()
	r.phase("an orderly stop")
	if err := n.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// TestCrash cuts the power at every file operation of the script, starts a new
// life on what is left, and wants every acknowledged row once.
func TestCrash(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var r *recorder
	synctest.Test(t, func(t *testing.T) {
		f := newFrontend(t, nil)
		defer f.close()
		r = newRecorder(f, seed)
		if _, err := f.Propose(t.Context(), &meta.InitCluster{ClusterID: "c", MetaEpoch: 1}); err != nil {
			t.Fatal(err)
		}
		script(t, f, r)
	})
	if t.Failed() {
		return
	}
	golden(t, "testdata/trace.txt", r.trace)
	t.Logf("%d crashes", len(r.pictures))
	for i, p := range r.pictures {
		if testing.Short() && i%7 != 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			err := p.check(t)
			if err != nil && p.percent%100 != 0 && strings.Contains(err.Error(), "could not open manifest file") {
				return // Pebble needs names of one directory to appear in order, as journals see to
			}
			if err != nil {
				t.Fatalf("picture %d, before operation %q, keeping %d%% of what was not synced, after %d commands and acks of %v: %v",
					i, p.op, p.percent, len(p.log), p.acked, err)
			}
		})
	}
}

// golden compares a trace with a file, directory by directory: the storage root
// and the WAL directory are written by goroutines of their own, whose order
// against each other is free wherever neither waits for the other. (Where one
// must wait, a crash between the two shows it.)
func golden(t *testing.T, file string, trace []string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(trace, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, dir := range []string{"/storage", "/wal"} {
		g, w := underDir(trace, dir), underDir(want, dir)
		for i := range max(len(g), len(w)) {
			if i >= len(g) || i >= len(w) || g[i] != w[i] {
				t.Fatalf("operation %d of %s is %q, %s has %q", i+1, dir, at(g, i), file, at(w, i))
			}
		}
	}
}

// underDir returns the phases of a trace and the operations on a directory.
// What is written to one log in a row is one line, which tells whether it was
// synced at the end: how many batches share a write or a sync is up to the
// moment at which their goroutines come.
func underDir(trace []string, dir string) (ops []string) {
	log := ""
	for _, line := range trace {
		op, file, _ := strings.Cut(line, " ")
		if op != "#" && file != "/" && !strings.HasPrefix(file+"/", dir+"/") {
			continue
		}
		if path.Ext(file) != ".log" || op != "write" && op != "sync" {
			log = ""
		} else if log == file {
			ops[len(ops)-1] = line
			continue
		} else {
			log = file
		}
		ops = append(ops, line)
	}
	return ops
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}

// check starts a life on a picture and compares.
func (p *picture) check(t *testing.T) (err error) {
	f := newFrontend(t, p.log)
	defer f.close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	port := firstLife
	f.View(func(st *meta.State) {
		if b := st.Backends(); len(b) > 0 {
			port = b[0].RPCPort
		}
	})
	n, err := startLife(ctx, f, p.fs, port)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer func() { err = errors.Join(err, n.Stop(context.WithoutCancel(ctx))) }()
	if err := makeTable(ctx, f, n); err != nil {
		return err
	}
	// Async loads that were not answered are sent again at once, as a hop
	// would: by their request ids they must not come twice.
	again := map[int]bool{}
	for i, rows := range asyncLoads {
		if slices.ContainsFunc(p.acked, func(a ack) bool { return a.load == i }) {
			continue
		}
		again[i] = true
		if _, err := send(ctx, f, n, modeAsync, i, rows); err != nil {
			return fmt.Errorf("load %d again: %w", i, err)
		}
	}
	if reply, err := send(ctx, f, n, modeSync, 6, 1); err != nil || txn.State(reply.State) != txn.Visible {
		return fmt.Errorf("sync load after the crash: %v, %w", reply, err)
	}
	if err := f.idle(ctx); err != nil {
		return fmt.Errorf("what is left does not come to an end: %w", err)
	}
	ids, err := readAll(ctx, f, n)
	if err != nil {
		return err
	}
	if err := p.compare(ids, again); err != nil {
		return err
	}
	return p.leftovers(ctx, n)
}

// compare wants the rows of acknowledged loads, of those sent again, and of
// load 6; of load 1 all or nothing.
func (p *picture) compare(ids []int64, again map[int]bool) error {
	rows := map[int]int{6: 1}
	for i := range again {
		rows[i] = asyncLoads[i]
	}
	for _, a := range p.acked {
		rows[a.load] = a.rows
	}
	if _, ok := rows[1]; !ok && slices.Contains(ids, 1000) {
		rows[1] = 100 // it was committed, and its client not answered any more
	}
	var want []int64
	for i, n := range rows {
		for r := range n {
			want = append(want, int64(i*1000+r))
		}
	}
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		return fmt.Errorf("%d rows, want %d:\n got %v\nwant %v", len(ids), len(want), ids, want)
	}
	return nil
}

// leftovers wants no WAL file and no pending rowset.
func (p *picture) leftovers(ctx context.Context, n *Node) error {
	if c := n.WALs.Counts(); len(c) > 0 {
		return fmt.Errorf("WAL files are left: %v", c)
	}
	names, err := p.fs.List("/wal/tmp")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		// Files that end within their header or with a half frame are kept.
		if ext := path.Ext(name); ext != "."+string(wal.NoHeader) && ext != "."+string(wal.Torn) {
			return fmt.Errorf("a WAL file was set aside: %s", name)
		}
	}
	time.Sleep(2*settleEvery + time.Second)
	if ids := n.Engine.PendingTxns(); len(ids) > 0 {
		return fmt.Errorf("rowsets of transactions %v are left", ids)
	}
	select {
	case err := <-n.Failed():
		return err
	default:
		return nil
	}
}
