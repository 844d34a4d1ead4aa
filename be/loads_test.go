package be

import (
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/peer"
)

// oneLife is a frontend and a node with the tests' table, on an empty disk.
func oneLife(t *testing.T) (*frontend, *Node) {
	t.Helper()
	f := newFrontend(t, nil)
	_, err := f.Propose(t.Context(), &meta.InitCluster{ClusterID: "c", MetaEpoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	n, err := startLife(t.Context(), f, vfs.NewMem(), firstLife)
	if err != nil {
		t.Fatal(err)
	}
	if err := makeTable(t.Context(), f, n); err != nil {
		t.Fatal(err)
	}
	return f, n
}

// TestLoadStream sends loads of every kind at once on one stream: each gets its
// own answer, whatever else is in its frame, and the rows of those that were
// accepted are visible once.
func TestLoadStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		f, n := oneLife(t)
		defer f.close()
		c := peer.NewLoadClient(f.pool, net.JoinHostPort("be", strconv.Itoa(firstLife)))
		defer c.Close()
		var mu sync.Mutex
		var want []int64
		groups := map[int64]bool{}
		one := func(i int) {
			item := loadItem(f, modeAsync, i, 1+i%3)
			state, refused, kind := txn.Prepare, false, doriserr.Internal
			switch i % 7 {
			case 1:
				item.Mode, state = modeSync, txn.Visible
			case 2:
				item.Mode, state = modeOff, txn.Visible
				item.Label = "load_" + strconv.Itoa(i)
			case 3:
				item.SchemaVersion--
				refused, kind = true, doriserr.SchemaChanged
			case 4:
				item.Block = item.Block[:len(item.Block)-1]
				refused, kind = true, doriserr.Corrupt
			case 5:
				item.RequestId, refused = nil, true
			}
			r, err := c.Send(ctx, item)
			mu.Lock()
			defer mu.Unlock()
			if refused {
				if !doriserr.Is(err, kind) {
					t.Errorf("load %d: %v, want an error of kind %s", i, err, kind)
				}
				return
			}
			if err != nil || txn.State(r.State) != state || r.Group != (item.Mode != modeOff) || item.Mode == modeOff && r.Label != item.Label {
				t.Errorf("load %d of mode %d: %v, %v", i, item.Mode, r, err)
				return
			}
			for row := range item.Rows {
				want = append(want, int64(i)*1000+row)
			}
			if item.Mode == modeAsync {
				groups[r.TxnId] = true
			}
		}
		// The first one opens the group and admits the table; of the others that
		// are async, none waits for its place.
		one(0)
		var wg sync.WaitGroup
		for i := 1; i < 70; i++ {
			wg.Go(func() { one(i) })
		}
		wg.Wait()
		// A request that comes again is answered from its first load.
		again, err := c.Send(ctx, loadItem(f, modeAsync, 7, 1+7%3))
		if err != nil || !groups[again.TxnId] {
			t.Errorf("a repeated request: %v, %v", again, err)
		}
		if err := f.idle(ctx); err != nil {
			t.Fatal(err)
		}
		if len(groups) != 1 {
			t.Errorf("the async loads of one moment are in the groups %v", groups)
		}
		slices.Sort(want)
		if got, err := readAll(ctx, f, n); err != nil || !slices.Equal(got, want) {
			t.Errorf("rows %v, %v, want %v", got, err, want)
		}
		if err := n.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
}
