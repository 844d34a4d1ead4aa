package groupcommit

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
)

// TestIntervalAndSize: rows are visible an interval after they came at the
// latest, or when DataBytes are there; a changed interval counts from the next
// group.
func TestIntervalAndSize(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		n := start(t, vfs.NewMem(), f, nil)
		defer n.end()
		tb := testTable(1)
		begin := time.Now()
		for i := range int64(20) { // one row each 100 ms
			go n.add(newLoad(tb, i%2 == 0, i, 1))
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if sinceOldest := time.Since(begin) - time.Duration(len(f.visible(1)))*50*time.Millisecond; sinceOldest > 2*time.Second {
				t.Fatalf("after %v only %d rows are visible", time.Since(begin), len(f.visible(1)))
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		wantRows(t, f, 1, ints(0, 20)...)

		slow := testTable(2)
		slow.IntervalMs = 60_000
		slow.DataBytes = 10_000
		done := make(chan struct{})
		for i := range int64(40) {
			l := newLoad(slow, true, i, 1)
			l.Bytes = 1000
			n.mustAdd(l)
		}
		go func() {
			defer close(done)
			l := newLoad(slow, false, 100, 1)
			l.Bytes = 10_000
			if ack := n.mustAdd(l); !ack.Visible || ack.Async {
				t.Errorf("%+v", ack)
			}
		}()
		synctest.Wait()
		<-done
		wantRows(t, f, 2, append(ints(0, 40), 100)...)
		if got := len(f.commits); got < 5 {
			t.Fatalf("%d commits", got)
		}

		n.mustAdd(newLoad(slow, true, 200, 1)) // opens a group for 60 s
		quick := *slow
		quick.IntervalMs = 100
		n.mustAdd(newLoad(&quick, true, 201, 1))
		time.Sleep(61 * time.Second)
		n.mustAdd(newLoad(&quick, true, 202, 1))
		time.Sleep(110 * time.Millisecond)
		synctest.Wait()
		wantRows(t, f, 2, append(append(ints(0, 40), 100), 200, 201, 202)...)
	})
}

// TestNextGroupBeginsAhead: with a begin of 300 ms loads wait for the first one
// only.
func TestNextGroupBeginsAhead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		var begins atomic.Int64
		n := start(t, vfs.NewMem(), f, func(n *node, _ *Options) {
			n.sink.before = func(_ context.Context, op string, _ Txn) error {
				if op == "Begin" {
					begins.Add(1)
					time.Sleep(300 * time.Millisecond)
				}
				return nil
			}
		})
		defer n.end()
		tb := testTable(1)
		for i := range int64(50) {
			before := time.Now()
			n.mustAdd(newLoad(tb, true, i, 1))
			if took := time.Since(before); took > 0 && i > 0 {
				t.Fatalf("load %d waited %v", i, took)
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(10 * time.Second) // the spare group is discarded
		synctest.Wait()
		wantRows(t, f, 1, ints(0, 50)...)
		if all, _ := f.groups(); all != 0 || n.Counters().Discarded.Load() != 1 || begins.Load() > 7 {
			t.Fatalf("%d groups left, %d discarded, %d begins", all, n.Counters().Discarded.Load(), begins.Load())
		}
	})
}

// TestRepeatedRequest: repeats in every phase get the first answer, once.
func TestRepeatedRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		fs := vfs.NewCrashableMem()
		n := start(t, fs, f, nil)
		tb := testTable(1)
		for _, async := range []bool{true, false} {
			first := int64(100)
			if async {
				first = 0
			}
			var wg sync.WaitGroup
			acks := make([]Ack, 50)
			for i := range acks {
				wg.Go(func() { acks[i] = n.mustAdd(newLoad(tb, async, first, 3)) })
			}
			wg.Wait()
			for _, a := range acks {
				if a != acks[0] || a.Rows != 3 || a.Async != async || a.Visible == async {
					t.Fatalf("%+v and %+v", acks[0], a)
				}
			}
			time.Sleep(2 * time.Second) // committed and not released
			if again := n.mustAdd(newLoad(tb, async, first, 3)); again.Label != acks[0].Label || again.Rows != 3 {
				t.Fatalf("%+v", again)
			}
		}
		last := n.mustAdd(newLoad(tb, true, 200, 2))
		crashed := fs.CrashClone(vfs.CrashCloneCfg{})
		n.die()
		n = start(t, crashed, f, nil)
		defer n.end()
		if again := n.mustAdd(newLoad(tb, true, 200, 2)); again.Label != last.Label || again.Rows != 2 || !again.Async {
			t.Fatalf("after a restart: %+v, want %+v", again, last)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		wantRows(t, f, 1, 0, 1, 2, 100, 101, 102, 200, 201)
	})
}

// TestBadBlockHarmsNobody: bytes that are no rows of the table fail their load
// alone, in front of the queue.
func TestBadBlockHarmsNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		n := start(t, vfs.NewMem(), f, nil)
		defer n.end()
		tb := testTable(1)
		good := newLoad(tb, true, 50, 4)
		for i, async := range []bool{true, false} {
			if async {
				n.mustAdd(newLoad(tb, async, int64(i), 1))
			}
			for cut := range len(good.Encoded) {
				bad := *good
				bad.Async, bad.Encoded = async, good.Encoded[:cut]
				if _, err := n.add(&bad); !doriserr.Is(err, doriserr.Corrupt) {
					t.Fatalf("cut at %d: %v", cut, err)
				}
			}
			for _, bad := range []Load{
				{Encoded: append(append([]byte{}, good.Encoded...), 0), Rows: 4},
				{Encoded: good.Encoded, Rows: 3},
				{Encoded: good.Encoded, Rows: 5},
				{Encoded: []byte("garbage, not a block"), Rows: 1},
			} {
				bad.Table, bad.Async, bad.RequestID = tb, async, newRequest(999)
				if _, err := n.add(&bad); !doriserr.Is(err, doriserr.Corrupt) {
					t.Fatalf("%v", err)
				}
			}
		}
		n.mustAdd(good)
		time.Sleep(10 * time.Second)
		wantRows(t, f, 1, 0, 50, 51, 52, 53)
		if used, _ := n.Memory(); used != 0 {
			t.Fatalf("%d bytes of memory are still held", used)
		}
	})
}

// TestModesAndSchemasDoNotMix: a group has loads of one mode, epoch and schema;
// a newer schema seals the older group at once.
func TestModesAndSchemasDoNotMix(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		var mu sync.Mutex
		var reasons []SealReason
		n := start(t, vfs.NewMem(), f, func(_ *node, o *Options) {
			o.Events.Committed = func(_ GroupInfo, r SealReason, _ time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				reasons = append(reasons, r)
			}
		})
		defer n.end()
		old := testTable(1)
		old.IntervalMs = 60_000
		labels := map[string]string{}
		add := func(name string, l *Load) {
			ack := n.mustAdd(l)
			mu.Lock()
			defer mu.Unlock()
			if other, ok := labels[ack.Label]; ok {
				t.Errorf("%s and %s share group %s", name, other, ack.Label)
			}
			labels[ack.Label] = name
		}
		add("async 1", newLoad(old, true, 1, 1))
		go add("sync 1", newLoad(old, false, 2, 1))
		synctest.Wait()
		wantRows(t, f, 1)
		newer := *old
		newer.SchemaVersion = 2
		add("async 2", newLoad(&newer, true, 3, 1))
		synctest.Wait()
		wantRows(t, f, 1, 1, 2) // at once
		truncated := newer
		truncated.Epoch = 2
		add("epoch 2", newLoad(&truncated, true, 4, 1))
		synctest.Wait()
		wantRows(t, f, 1, 1, 2, 3)
		n.Seal(1)
		synctest.Wait()
		wantRows(t, f, 1, 1, 2, 3, 4)
		if got := fmt.Sprint(reasons); got != "[schema schema schema asked]" {
			t.Fatal(got)
		}
	})
}

// TestHalfOfTheMemory: a group never has all the memory of the queues, so that
// loads go on while it is committed; its successor is opened in time.
func TestHalfOfTheMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		n := start(t, vfs.NewMem(), f, func(n *node, o *Options) {
			o.MemLimit = 100_000
			n.sink.before = func(_ context.Context, op string, _ Txn) error {
				switch op {
				case "Write":
					time.Sleep(time.Second)
				case "Begin":
					time.Sleep(300 * time.Millisecond)
				}
				return nil
			}
		})
		defer n.end()
		tb := testTable(1)
		tb.IntervalMs = 300_000
		seen := map[int64]int{}
		for i := range int64(30) {
			l := newLoad(tb, true, i, 1)
			l.Bytes = 10_000
			began := time.Now()
			ack, err := n.add(l)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 0 && i > 0 {
				t.Errorf("load %d waited %v for its group to be opened", i, took)
			}
			seen[ack.TxnID]++
			time.Sleep(250 * time.Millisecond) // 4 loads for each commit
		}
		if used, waits := n.Memory(); waits != 0 {
			t.Errorf("%d loads waited for memory, %d bytes of it are used", waits, used)
		}
		if len(seen) != 6 {
			t.Errorf("30 loads of a tenth of the memory went to groups of %v, want 5 in each", seen)
		}
	})
}

// TestMemoryBudgetSealsAtOnce: whoever waits for memory waits for a commit, not
// for an interval; who waits in vain gets a text at its deadline.
func TestMemoryBudgetSealsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		stuck := make(chan struct{})
		var blocked atomic.Bool
		n := start(t, vfs.NewMem(), f, func(n *node, o *Options) {
			o.MemLimit = 100_000
			n.sink.before = func(ctx context.Context, op string, _ Txn) error {
				if op == "Write" && blocked.Load() {
					select {
					case <-stuck:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				return nil
			}
		})
		defer n.end()
		add := func(table, i int64) (Ack, error) {
			tb := testTable(table)
			tb.IntervalMs = 300_000
			l := newLoad(tb, true, i, 1)
			l.Bytes = 30_000
			return n.add(l)
		}
		begin := time.Now()
		for i := range int64(30) {
			if _, err := add(i%3, i); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took > 0 {
			t.Fatalf("30 loads took %v", took)
		}
		if _, waits := n.Memory(); waits == 0 {
			t.Fatal("nobody waited")
		}
		for i := range int64(3) {
			n.Seal(i)
		}
		synctest.Wait()
		blocked.Store(true)
		for i := range int64(3) { // fill it up
			go add(9, 100+i)
		}
		synctest.Wait()
		_, err := add(10, 200)
		if !doriserr.Is(err, doriserr.NotAdmitted) || !strings.Contains(err.Error(), "group_commit_queue_mem_limit") || time.Since(begin) != time.Minute {
			t.Fatalf("after %v: %v", time.Since(begin), err)
		}
		blocked.Store(false)
		close(stuck)
		synctest.Wait()
		if _, err := add(10, 200); err != nil {
			t.Fatal(err)
		}
		n.Seal(9)
		n.Seal(10)
		synctest.Wait()
		wantRows(t, f, 9, 100, 101, 102)
		wantRows(t, f, 10, 200)
	})
}

// TestSwitchToSync: async loads that the WAL directory has no room for are
// stored and visible when they are answered, and the answer says so.
func TestSwitchToSync(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		mem := vfs.NewMem()
		mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 20})
		n := start(t, mem, f, nil)
		defer n.end()
		tb := testTable(1)
		if ack := n.mustAdd(newLoad(tb, true, 1, 1)); !ack.Async || ack.Switched != "" {
			t.Fatalf("small: %+v", ack)
		}
		big := newLoad(tb, true, 2, 1)
		big.Bytes = 900 << 10
		if ack := n.mustAdd(big); ack.Async || !ack.Visible || !strings.Contains(ack.Switched, "WAL space is short: [/wal: limit ") {
			t.Fatalf("900 KiB of 1 MiB: %+v", ack)
		}
		mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1})
		time.Sleep(time.Second)
		if ack := n.mustAdd(newLoad(tb, true, 3, 1)); ack.Async || !ack.Visible || ack.Switched == "" {
			t.Fatalf("disk full: %+v", ack)
		}
		mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 20})
		time.Sleep(time.Second)
		if ack := n.mustAdd(newLoad(tb, true, 4, 1)); !ack.Async {
			t.Fatalf("healed: %+v", ack)
		}
		if got := n.Counters().Switched.Load(); got != 2 {
			t.Fatalf("%d switched", got)
		}
		time.Sleep(5 * time.Second)
		wantRows(t, f, 1, 1, 2, 3, 4)
	})
}

// TestFailedBeginLeavesNothing: 200 clients wait while begins fail; they go
// through after the heal, or get an error by their deadline, and nothing is
// left behind.
func TestFailedBeginLeavesNothing(t *testing.T) {
	for _, kind := range []doriserr.Kind{doriserr.Unknown, doriserr.NotLeader, doriserr.Blocked} {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFSM(t)
				var down atomic.Bool
				down.Store(true)
				n := start(t, vfs.NewMem(), f, func(n *node, _ *Options) {
					fail := func(_ context.Context, op string, _ Txn) error {
						if op == "Begin" && down.Load() {
							return doriserr.New(kind, "fault of begin")
						}
						return nil
					}
					if kind == doriserr.Unknown {
						n.sink.after = fail // it took effect
					} else {
						n.sink.before = fail
					}
				})
				defer n.end()
				tb := testTable(1)
				var wg sync.WaitGroup
				for i := range int64(200) {
					wg.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%2*9)*time.Second)
						defer cancel()
						begin := time.Now()
						_, err := n.Add(ctx, newLoad(tb, i%4 < 2, i, 1))
						switch {
						case kind == doriserr.Blocked:
							if !doriserr.Is(err, kind) || time.Since(begin) > 0 {
								t.Errorf("load %d: %v after %v", i, err, time.Since(begin))
							}
						case i%2 == 0:
							if !doriserr.Is(err, doriserr.NotAdmitted) || !strings.Contains(err.Error(), "fault of begin") || time.Since(begin) != time.Second {
								t.Errorf("load %d: %v after %v", i, err, time.Since(begin))
							}
						case err != nil:
							t.Errorf("load %d: %v after %v", i, err, time.Since(begin))
						}
					})
				}
				time.Sleep(3 * time.Second)
				down.Store(false)
				n.mustAdd(newLoad(tb, true, 1000, 1))
				wg.Wait()
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if want := map[bool]int{true: 1, false: 101}[kind == doriserr.Blocked]; len(f.visible(1)) != want {
					t.Fatalf("%d rows, want %d", len(f.visible(1)), want)
				}
				if all, _ := f.groups(); all != 0 {
					t.Fatalf("%d groups left", all)
				}
				if s := n.Stats()[1]; s.Groups != 0 {
					t.Fatalf("%+v", s)
				}
			})
		})
	}
}

// TestAbandonedBegin: if every client went away while the outcome of a begin is
// unknown, its group is found out, discarded and released.
func TestAbandonedBegin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		var down atomic.Bool
		down.Store(true)
		n := start(t, vfs.NewMem(), f, func(n *node, _ *Options) {
			n.sink.after = func(_ context.Context, op string, _ Txn) error {
				if op == "Begin" && down.Load() {
					return errBroken
				}
				return nil
			}
		})
		defer n.end()
		if _, err := n.add(newLoad(testTable(1), true, 1, 1)); !doriserr.Is(err, doriserr.NotAdmitted) {
			t.Fatal(err)
		}
		if all, prepare := f.groups(); all != 1 || prepare != 1 {
			t.Fatalf("%d groups, %d PREPARE", all, prepare)
		}
		down.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if all, _ := f.groups(); all != 0 {
			t.Fatalf("%d groups left", all)
		}
	})
}

func TestLoadWithoutRows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, vfs.NewMem(), newFSM(t), nil)
		defer n.end()
		if ack, err := n.add(&Load{Table: testTable(1), Async: true}); err != nil || ack != (Ack{Visible: true}) {
			t.Fatalf("%+v, %v", ack, err)
		}
	})
}
