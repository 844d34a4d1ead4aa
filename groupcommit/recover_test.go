package groupcommit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/groupcommit/wal"
	"dorisgo/value"
)

// crashWith runs a life that acknowledges async rows 0..9 of table 1 in one
// group and dies before it commits; it returns the disk and the file's path.
func crashWith(t *testing.T, f *fsm, setup func(*Table)) (*vfs.MemFS, string) {
	t.Helper()
	fs := vfs.NewCrashableMem()
	n := start(t, fs, f, nil)
	tb := testTable(1)
	if setup != nil {
		setup(tb)
	}
	for i := range int64(10) {
		n.mustAdd(newLoad(tb, true, i, 1))
	}
	files, err := n.wals.Scan(t.Context())
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	n.die()
	return crashed, files[0].Path
}

// edit changes a file without its padding.
func edit(t *testing.T, fs vfs.FS, path string, change func([]byte) []byte) {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, info.Size())
	_, err = f.ReadAt(b, 0)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	out, err := fs.Create(path, "test")
	if err != nil {
		t.Fatal(err)
	}
	_, err = out.Write(change(bytes.TrimRight(b, "\x00")))
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestRecoverStates: what a start does with a WAL, by what the FSM says of its
// group and by what is in the file. Nothing is deleted that may be needed.
func TestRecoverStates(t *testing.T) {
	all := ints(0, 10)
	tests := []struct {
		name    string
		state   State // of the group in the FSM; 0 = as it was, PREPARE
		forget  bool
		change  func([]byte) []byte
		rows    []int64
		aside   wal.Reason
		kept    bool // in place
		record  bool // the group record stays
		reportd bool
	}{
		{name: "prepare", rows: all, reportd: true},
		{name: "committed", state: StateCommitted, reportd: true},
		{name: "visible", state: StateVisible, reportd: true},
		{name: "aborted", state: StateAborted, aside: wal.Aborted, record: true, reportd: true},
		{name: "erased", state: StateErased, aside: wal.Erased, reportd: true},
		{name: "recycled", state: StateRecycled, kept: true, record: true, reportd: true},
		{name: "unknown", forget: true, aside: wal.Unknown, reportd: true},
		{name: "torn", change: func(b []byte) []byte { return b[:len(b)-3] }, rows: ints(0, 9), aside: wal.Torn, reportd: true},
		{name: "damaged", change: func(b []byte) []byte { b[len(b)-100] ^= 1; return b }, aside: wal.Damaged, record: true, reportd: true},
		{name: "damaged and visible", state: StateVisible, change: func(b []byte) []byte { b[len(b)-100] ^= 1; return b }, reportd: true},
		{name: "damaged header", change: func(b []byte) []byte { b[30] ^= 1; return b }, aside: wal.Damaged, record: true, reportd: true},
		{name: "no header", change: func(b []byte) []byte { return b[:30] }, aside: wal.NoHeader},
		{name: "empty", change: func(b []byte) []byte { return nil }, aside: wal.NoHeader},
		{name: "foreign", change: func(b []byte) []byte { return []byte("some other program's file, longer than a header's prefix") }, aside: wal.Damaged, record: true, reportd: true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFSM(t)
				fs, path := crashWith(t, f, nil)
				for id, x := range f.txns {
					if tc.state != 0 {
						x.state = tc.state
					}
					if tc.forget {
						delete(f.txns, id)
					}
				}
				if tc.change != nil {
					edit(t, fs, path, tc.change)
				}
				var aside wal.Reason
				n := start(t, fs, f, func(_ *node, o *Options) {
					o.Events.Quarantined = func(to string, r wal.Reason, detail error) {
						aside = r
						if _, err := fs.Stat(to); err != nil || !strings.HasPrefix(to, "/wal/tmp/1_1_2_10001_") || detail == nil {
							t.Errorf("event %s %v: %v", to, detail, err)
						}
					}
				})
				defer n.end()
				// The table takes async loads at once.
				if ack := n.mustAdd(newLoad(testTable(1), true, 100, 1)); !ack.Async {
					t.Errorf("%+v", ack)
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				wantRows(t, f, 1, append(slices.Clone(tc.rows), 100)...)
				if in := reasonInTmp(t, fs); in != tc.aside {
					t.Errorf("set aside as %q, want %q", in, tc.aside)
				}
				told := tc.aside
				if told == wal.NoHeader { // a kill may leave one: no person must look
					told = ""
				}
				quarantined := n.Counters().Quarantined.Load()
				if aside != told || (quarantined == 1) != (told != "") {
					t.Errorf("told %q, want %q; %d are counted", aside, told, quarantined)
				}
				if _, err := fs.Stat(path); (err == nil) != tc.kept {
					t.Errorf("file in place: %v", err)
				}
				if groups, _ := f.groups(); (groups == 1) != tc.record {
					t.Errorf("%d group records, want one: %v", groups, tc.record)
				}
				if len(f.reported) == 1 != tc.reportd {
					t.Errorf("reported %v", f.reported)
				}
				if s := n.Stats()[1]; s.Waiting != 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// reasonInTmp reads why the only file in tmp was set aside; "" if none was.
func reasonInTmp(t *testing.T, fs vfs.FS) wal.Reason {
	t.Helper()
	names, err := fs.List("/wal/tmp")
	if err != nil && !oserror.IsNotExist(err) || len(names) > 1 {
		t.Fatalf("tmp: %v %v", names, err)
	}
	if len(names) == 0 {
		return ""
	}
	return wal.Reason(names[0][strings.LastIndexByte(names[0], '.')+1:])
}

// TestFaultDuringRecovery: begins, take-overs and everything else fail for a
// while after a restart; loads wait until the table's WALs are taken over, then
// all goes on by itself.
func TestFaultDuringRecovery(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		fs, _ := crashWith(t, f, nil)
		var down atomic.Bool
		down.Store(true)
		n := start(t, fs, f, func(n *node, _ *Options) {
			n.sink.before = func(context.Context, string, Txn) error {
				if down.Load() {
					return errBroken
				}
				return nil
			}
		})
		defer n.end()
		_, err := n.add(newLoad(testTable(1), true, 100, 1))
		if !doriserr.Is(err, doriserr.NotAdmitted) || !strings.Contains(err.Error(), "take-over") || !strings.Contains(err.Error(), "connection reset") {
			t.Fatal(err)
		}
		down.Store(false)
		n.mustAdd(newLoad(testTable(1), true, 101, 1))
		time.Sleep(20 * time.Second)
		wantRows(t, f, 1, append(ints(0, 10), 101)...)
	})
}

// TestWALLimit: commits of one table fail for two minutes. Its async
// loads are refused once enough WALs wait, another table is not touched, retries
// back off, and all drains by itself.
func TestWALLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		var full atomic.Bool
		full.Store(true)
		attempts := 0
		n := start(t, vfs.NewMem(), f, func(n *node, o *Options) {
			o.MaxWALsPerTable = 4
			n.sink.before = func(_ context.Context, op string, x Txn) error {
				if op != "Commit" {
					return nil
				}
				f.mu.Lock()
				defer f.mu.Unlock()
				if full.Load() && f.txns[x.ID].table == 1 {
					attempts++
					return doriserr.New(doriserr.ExceededLimit, "too many versions")
				}
				return nil
			}
		})
		defer n.end()
		var stored, refused []int64
		for i := range int64(120) {
			_, err := n.add(newLoad(testTable(1), true, i, 1))
			switch {
			case err == nil:
				stored = append(stored, i)
			case doriserr.Is(err, doriserr.ExceededLimit) && err.Error() == "Too many group commit async WALs for table t1":
				refused = append(refused, i)
			default:
				t.Fatal(err)
			}
			n.mustAdd(newLoad(testTable(2), true, i, 1))
			time.Sleep(time.Second)
		}
		if s := n.Stats()[1]; s.Waiting < 4 || s.Waiting > 5 || s.ReplayFailures == 0 || s.LastError == "" || len(refused) < 100 {
			t.Fatalf("%+v, %d refused", s, len(refused))
		}
		if attempts > 40 {
			t.Fatalf("%d attempts in two minutes", attempts)
		}
		if used, _ := n.Memory(); used > 1000 {
			t.Fatalf("%d bytes held", used)
		}
		full.Store(false)
		time.Sleep(10 * time.Minute)
		wantRows(t, f, 1, stored...)
		wantRows(t, f, 2, ints(0, 120)...)
		if s := n.Stats()[1]; s.Waiting != 0 {
			t.Fatalf("%+v", s)
		}
		n.mustAdd(newLoad(testTable(1), true, 500, 1))
	})
}

// TestReplayConverts: rows are decoded by the file's own columns and handed to
// the converter with them; an error of the converter keeps the WAL.
func TestReplayConverts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		fs, _ := crashWith(t, f, func(tb *Table) {
			tb.Columns = append(slices.Clone(testColumns), Column{UniqueID: 3, Name: "d", Type: value.Type{Kind: value.Date}, Nullable: true})
			tb.SchemaVersion = 7
			tb.Facts = []wal.Fact{{Name: "time_zone", Value: "+08:00"}}
		})
		failures := 2
		n := start(t, fs, f, func(n *node, o *Options) {
			n.sink.convert = func(h *wal.Header, b *block.Block) (*Table, *block.Block, error) {
				if failures > 0 {
					failures--
					return nil, nil, doriserr.New(doriserr.DataQuality, "column n of row 3")
				}
				if h.SchemaVersion != 7 || len(h.Columns) != 4 || h.Facts[0].Value != "+08:00" || b.NumCols() != 4 {
					t.Errorf("%+v", h)
				}
				now := testTable(1)
				now.Columns = testColumns[:1]
				out := block.New(types(now.Columns))
				out.Col(0).AppendColumn(b.Col(0))
				for range b.Rows() {
					out.EndRow()
				}
				return now, out, nil
			}
		})
		defer n.end()
		time.Sleep(time.Second)
		synctest.Wait()
		if s := n.Stats()[1]; s.Waiting != 1 || !strings.Contains(s.LastError, "column n of row 3") {
			t.Fatalf("%+v", s)
		}
		time.Sleep(time.Minute)
		wantRows(t, f, 1, ints(0, 10)...)
	})
}

// TestSeveralWALsOfTwoTables: five files with columns of their own and a pool of
// replays: each is read with its own columns.
func TestSeveralWALsOfTwoTables(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		fs := vfs.NewCrashableMem()
		n := start(t, fs, f, func(n *node, _ *Options) {
			failN(n.sink, "Write", 1000, false, errBroken)
		})
		for i := range int64(6) {
			tb := testTable(1 + i%2)
			tb.SchemaVersion = int32(i + 1)
			tb.Columns = testColumns[:1+i%3]
			n.mustAdd(newLoad(tb, true, i*10, 10))
		}
		crashed := fs.CrashClone(vfs.CrashCloneCfg{})
		n.die()
		n = start(t, crashed, f, nil)
		defer n.end()
		time.Sleep(time.Minute)
		wantRows(t, f, 1, append(append(ints(0, 10), ints(20, 30)...), ints(40, 50)...)...)
		wantRows(t, f, 2, append(append(ints(10, 20), ints(30, 40)...), ints(50, 60)...)...)
		if all, _ := f.groups(); all != 0 {
			t.Fatalf("%d groups left", all)
		}
	})
}

// TestForeignFiles are named and left alone.
func TestForeignFiles(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		fs, path := crashWith(t, f, nil)
		for _, p := range []string{"/wal/notes", "/wal/1/1/core.17", fs.PathDir(path) + "/1_x_y_z"} {
			out, err := fs.Create(p, "test")
			if err := errors.Join(err, out.Close()); err != nil {
				t.Fatal(err)
			}
		}
		var foreign []string
		n := start(t, fs, f, func(_ *node, o *Options) {
			o.Events.Foreign = func(p string) { foreign = append(foreign, p) }
		})
		defer n.end()
		if got := fmt.Sprint(foreign); got != "[/wal/1/1/1_x_y_z /wal/1/1/core.17 /wal/notes]" {
			t.Fatal(got)
		}
		time.Sleep(5 * time.Second)
		wantRows(t, f, 1, ints(0, 10)...)
	})
}

func TestRetryDelay(t *testing.T) {
	m := &Manager{}
	m.opts.setDefaults()
	var got []string
	for i := range 13 {
		got = append(got, m.retryDelay(i).String())
	}
	if s := strings.Join(got, " "); s != "5s 10s 20s 40s 1m20s 2m40s 5m20s 10m40s 21m20s 30m0s 30m0s 30m0s 30m0s" {
		t.Fatal(s)
	}
}
