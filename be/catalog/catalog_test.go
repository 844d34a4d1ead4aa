package catalog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/fepb"
	"dorisgo/rpc/peer"
)

func encode[T any](t *testing.T, f func(T) ([]byte, error), objects ...T) (out [][]byte) {
	t.Helper()
	for _, o := range objects {
		b, err := f(o)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

func apply(t *testing.T, c *Catalog, ev *fepb.CatalogEvent) {
	t.Helper()
	if err := c.Apply(ev); err != nil {
		t.Fatal(err)
	}
}

// first is a snapshot with d.t, a BE, a user and a variable.
func first(t *testing.T) *fepb.CatalogEvent {
	return &fepb.CatalogEvent{
		Index: 10, Snapshot: true,
		Databases: encode(t, meta.EncodeDatabase, &meta.Database{ID: 1, Name: "d"}),
		Tables:    encode(t, meta.EncodeTable, &meta.Table{ID: 2, DBID: 1, Name: "t", SchemaVersion: 1}),
		Backends:  encode(t, meta.EncodeBackend, &meta.Backend{ID: 3, Host: "h"}),
		Users:     encode(t, meta.EncodeUser, &meta.User{Name: "root"}),
		Globals:   map[string]string{"time_zone": "UTC"},
	}
}

func TestApply(t *testing.T) {
	c := New()
	if _, loaded := c.Index(); loaded {
		t.Error("an empty catalog says that it is loaded")
	}
	apply(t, c, first(t))
	if index, loaded := c.Index(); index != 10 || !loaded {
		t.Errorf("index %d, %v", index, loaded)
	}
	old, _ := c.Table(1, "t")
	if old == nil || old.ID != 2 {
		t.Fatalf("d.t is %+v", old)
	}
	// The table gets another name, and a new one takes the old name.
	apply(t, c, &fepb.CatalogEvent{Index: 11, Tables: encode(t, meta.EncodeTable,
		&meta.Table{ID: 4, DBID: 1, Name: "t"}, &meta.Table{ID: 2, DBID: 1, Name: "t2", SchemaVersion: 2})})
	for name, want := range map[string]int64{"t": 4, "t2": 2} {
		if got, ok := c.Table(1, name); !ok || got.ID != want {
			t.Errorf("%s is %+v, want id %d", name, got, want)
		}
	}
	if old.Name != "t" || old.SchemaVersion != 1 {
		t.Error("an object that a reader keeps has changed")
	}
	apply(t, c, &fepb.CatalogEvent{Index: 12, DroppedTables: []int64{4}, DroppedUsers: []string{"root"}, DroppedBackends: []int64{3}, DroppedDatabases: []int64{1}})
	_, user := c.User("root")
	_, backend := c.Backend(3)
	_, byName := c.Database("d")
	_, byID := c.DatabaseByID(1)
	_, table := c.Table(1, "t")
	if user || backend || byName || byID || table {
		t.Errorf("dropped and still there: user %v, backend %v, database %v %v, table %v", user, backend, byName, byID, table)
	}
	if got, ok := c.TableByID(2); !ok || got.Name != "t2" {
		t.Errorf("table 2 is %+v", got)
	}
	if v, _ := c.Global("time_zone"); v != "UTC" {
		t.Errorf("time_zone is %q", v)
	}
}

// TestBadEvent changes nothing.
func TestBadEvent(t *testing.T) {
	for name, ev := range map[string]*fepb.CatalogEvent{
		"database": {Index: 20, Snapshot: true, Databases: [][]byte{{0xff}}},
		"table":    {Index: 20, Snapshot: true, Tables: [][]byte{{0xff}}},
		"backend":  {Index: 20, DroppedTables: []int64{2}, Backends: [][]byte{{0xff}}},
		"user":     {Index: 20, DroppedDatabases: []int64{1}, Users: [][]byte{{0xff}}},
	} {
		c := New()
		apply(t, c, first(t))
		if err := c.Apply(ev); err == nil {
			t.Errorf("%s: no error", name)
		}
		_, db := c.Database("d")
		_, table := c.Table(1, "t")
		if index, _ := c.Index(); index != 10 || !db || !table {
			t.Errorf("%s: index %d, database %v, table %v", name, index, db, table)
		}
	}
}

// TestSnapshotReplaces: a snapshot from an FE that is behind is not taken for
// what the FE before it had sent.
func TestSnapshotReplaces(t *testing.T) {
	c := New()
	apply(t, c, first(t))
	apply(t, c, &fepb.CatalogEvent{Index: 8, Snapshot: true, Users: encode(t, meta.EncodeUser, &meta.User{Name: "admin"})})
	_, table := c.Table(1, "t")
	_, root := c.User("root")
	_, admin := c.User("admin")
	_, global := c.Global("time_zone")
	if index, _ := c.Index(); index != 8 || table || root || !admin || global {
		t.Errorf("index %d, table %v, root %v, admin %v, variable %v", index, table, root, admin, global)
	}
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		reached := make(chan error, 1)
		go func() { reached <- c.Wait(ctx, 11) }()
		for _, ev := range []*fepb.CatalogEvent{first(t), {Index: 11}} {
			synctest.Wait()
			select {
			case err := <-reached:
				t.Errorf("before index 11: %v", err)
			default:
			}
			apply(t, c, ev)
		}
		if err := <-reached; err != nil {
			t.Error(err)
		}
		if err := c.Wait(ctx, 12); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("index 12 never comes: %v", err)
		}
	})
}

// watched is an FE whose catalog streams are scripts.
type watched struct {
	fepb.UnimplementedFrontendServer
	mu    sync.Mutex
	calls int
	watch func(call int, stream fepb.Frontend_WatchCatalogServer) error
}

// WatchCatalog implements fepb.FrontendServer.
func (w *watched) WatchCatalog(_ *fepb.WatchCatalogRequest, stream fepb.Frontend_WatchCatalogServer) error {
	w.mu.Lock()
	w.calls++
	n := w.calls
	w.mu.Unlock()
	return w.watch(n, stream)
}

// TestFollow: a stream that breaks is opened again, and what was dropped
// meanwhile is gone.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := &peer.Pipes{}
		pool := peer.NewPool("", pipes)
		srv := peer.NewServer("")
		fe := &watched{watch: func(call int, stream fepb.Frontend_WatchCatalogServer) error {
			switch call {
			case 1:
				return doriserr.ToStatus(peer.NotLeaderError(""))
			case 2:
				if err := stream.Send(first(t)); err != nil {
					return err
				}
				return status.Error(codes.Unavailable, "gone")
			case 3:
				return stream.Send(&fepb.CatalogEvent{Index: 12, Tables: [][]byte{{0xff}}}) // and the end of the stream
			}
			ev := first(t)
			ev.Index, ev.Tables = 20, nil
			if err := stream.Send(ev); err != nil {
				return err
			}
			<-stream.Context().Done()
			return nil
		}}
		fepb.RegisterFrontendServer(srv, fe)
		var wg sync.WaitGroup
		l := pipes.Listen("fe:9020")
		wg.Go(func() {
			if err := srv.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
				t.Error(err)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		c := New()
		wg.Go(func() { c.Follow(ctx, peer.NewLeader(pool, []string{"fe:9020"}), 3, slog.New(slog.DiscardHandler)) })
		limit, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		if err := c.Wait(limit, 10); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(limit, 20); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Table(1, "t"); ok {
			t.Error("a table that was dropped while the stream was down is still there")
		}
		cancel()
		srv.Stop()
		pool.Close()
		wg.Wait()
	})
}
