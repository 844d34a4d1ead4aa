package rpc

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"dorisgo/be/catalog"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/fepb"
)

// events is the server's side of a stream whose events go to a channel.
type events struct {
	grpc.ServerStream
	ctx context.Context
	ch  chan *fepb.CatalogEvent
}

func (e *events) Context() context.Context { return e.ctx }

func (e *events) Send(ev *fepb.CatalogEvent) error {
	b, err := proto.Marshal(ev)
	if err != nil {
		return err
	}
	out := &fepb.CatalogEvent{}
	if err := proto.Unmarshal(b, out); err != nil {
		return err
	}
	select {
	case e.ch <- out:
		return nil
	case <-e.ctx.Done():
		return e.ctx.Err()
	}
}

// watch opens a stream; ended gives its error.
func watch(ctx context.Context, s *Server) (ch chan *fepb.CatalogEvent, ended chan error) {
	ch, ended = make(chan *fepb.CatalogEvent), make(chan error, 1)
	go func() { ended <- s.WatchCatalog(&fepb.WatchCatalogRequest{}, &events{ctx: ctx, ch: ch}) }()
	return ch, ended
}

// TestCatalogCopy applies commands at random and compares a BE's copy with the
// state after each.
func TestCatalogCopy(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		n := newNode(t)
		be := n.do(&meta.RegisterBackend{UUID: "u", Host: "h"}).ID
		ch, ended := watch(ctx, newServer(n))
		copied := catalog.New()
		if err := copied.Apply(<-ch); err != nil {
			t.Fatal(err)
		}
		name := func(prefix string, n int) string { return fmt.Sprint(prefix, rng.IntN(n)) }
		for range 500 {
			var c meta.Command
			switch rng.IntN(12) {
			case 0:
				c = &meta.CreateDatabase{Name: name("d", 3)}
			case 1:
				c = &meta.DropDatabase{Name: name("d", 3), Force: rng.IntN(2) == 0}
			case 2, 3, 4:
				c = &meta.CreateTable{DB: name("d", 3), Table: table(name("t", 4), be)}
			case 5:
				c = &meta.DropTable{DB: name("d", 3), Name: name("t", 4), Force: rng.IntN(2) == 0}
			case 6:
				c = &meta.RecoverTable{DB: name("d", 3), Name: name("t", 4)}
			case 7:
				if tb := n.tableByName(name("d", 3), name("t", 4)); tb != nil {
					c = &meta.AlterTableProps{TableID: tb.ID, Props: meta.Properties{ReplicationNum: 1, GroupCommitIntervalMs: int32(rng.IntN(100))}}
				}
			case 8:
				if tb := n.tableByName(name("d", 3), name("t", 4)); tb != nil {
					c = &meta.TruncateTable{TableID: tb.ID}
				}
			case 9:
				c = &meta.SetGlobalVar{Name: name("v", 3), Value: name("x", 9)}
			case 10:
				c = &meta.CreateUser{User: meta.User{Name: name("u", 3)}}
			case 11:
				c = &meta.DropUser{Name: name("u", 3)}
			}
			if c == nil {
				continue
			}
			var before, after uint64
			n.View(func(s *meta.State) { before = s.CatalogIndex() })
			_, err := n.Propose(ctx, c)
			n.View(func(s *meta.State) { after = s.CatalogIndex() })
			if after != before {
				ev := <-ch
				if ev.Snapshot {
					t.Fatal("a change came as a snapshot")
				}
				if err := copied.Apply(ev); err != nil {
					t.Fatal(err)
				}
			}
			if diff := compare(n, copied); diff != "" {
				t.Fatalf("after %s (%v): %s", meta.CommandName(c), err, diff)
			}
		}
		cancel()
		if err := <-ended; err == nil {
			t.Error("the stream ended without an error")
		}
	})
}

// compare tells where a copy differs from the state.
func compare(n *node, c *catalog.Catalog) (diff string) {
	n.View(func(s *meta.State) {
		var ids []int64
		for _, tb := range s.Tables(0) {
			ids = append(ids, tb.ID)
			byID, _ := c.TableByID(tb.ID)
			byName, _ := c.Table(tb.DBID, tb.Name)
			if !reflect.DeepEqual(byID, tb) || byName != byID {
				diff = fmt.Sprintf("table %d (%s): %+v, by name %+v, want %+v", tb.ID, tb.Name, byID, byName, tb)
			}
		}
		slices.Sort(ids)
		if got := c.TableIDs(); !slices.Equal(got, ids) {
			diff = fmt.Sprintf("tables %v, want %v", got, ids)
		}
		for i := range 3 {
			want := s.DatabaseByName(fmt.Sprint("d", i))
			if got, ok := c.Database(fmt.Sprint("d", i)); ok != (want != nil) || ok && *got != *want {
				diff = fmt.Sprintf("database d%d: %+v, want %+v", i, got, want)
			}
			user := s.User(fmt.Sprint("u", i))
			if got, ok := c.User(fmt.Sprint("u", i)); ok != (user != nil) || ok && !reflect.DeepEqual(got, user) {
				diff = fmt.Sprintf("user u%d: %+v, want %+v", i, got, user)
			}
		}
		for k, v := range s.GlobalVars() {
			if got, _ := c.Global(k); got != v {
				diff = fmt.Sprintf("variable %s is %q, want %q", k, got, v)
			}
		}
		if index, _ := c.Index(); index < s.CatalogIndex() {
			diff = fmt.Sprintf("index %d, and the catalog changed at %d", index, s.CatalogIndex())
		}
	})
	return diff
}

// TestWatchSendsChangesOnly: transactions and clock ticks are no news, and a
// change carries what it changed and nothing else.
func TestWatchSendsChangesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := newNode(t)
		be := n.do(&meta.RegisterBackend{UUID: "u", Host: "h"}).ID
		n.do(&meta.CreateDatabase{Name: "d"})
		for i := range 3 {
			n.do(&meta.CreateTable{DB: "d", Table: table(fmt.Sprint("t", i), be)})
		}
		ch, _ := watch(ctx, newServer(n))
		first := <-ch
		if !first.Snapshot || len(first.Tables) != 3 || len(first.Databases) != 1 || len(first.Backends) != 1 || len(first.Users) != 2 {
			t.Errorf("the first event: %v", first)
		}
		tb := n.tableByName("d", "t1")
		n.do(&meta.BeginTxn{DBID: tb.DBID, TableID: tb.ID, TableEpoch: tb.Epoch, SchemaVersion: 1, Label: "l", TimeoutMs: 1000})
		n.do(&meta.Tick{DeltaMs: 1, Term: 1})
		synctest.Wait()
		select {
		case ev := <-ch:
			t.Errorf("a transaction was news: %v", ev)
		default:
		}
		n.do(&meta.SetGlobalVar{Name: "a", Value: "1"})
		ev := <-ch
		if len(ev.Tables)+len(ev.Databases)+len(ev.Backends)+len(ev.Users) > 0 || !maps.Equal(ev.Globals, map[string]string{"a": "1"}) {
			t.Errorf("after SET GLOBAL: %v", ev)
		}
		n.do(&meta.DropTable{DB: "d", Name: "t1"})
		if ev := <-ch; !slices.Equal(ev.DroppedTables, []int64{tb.ID}) || len(ev.Tables) > 0 || len(ev.Globals) > 0 {
			t.Errorf("after DROP TABLE: %v", ev)
		}
	})
}

// TestDeposedLeaderEndsStreams: a BE must not follow an FE that may be cut off.
func TestDeposedLeaderEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		ch, ended := watch(t.Context(), newServer(n))
		<-ch
		n.setLeads(false)
		start := time.Now()
		if err := doriserr.FromStatus(<-ended); !doriserr.Is(err, doriserr.NotLeader) || time.Since(start) > 2*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		_, ended = watch(t.Context(), newServer(n))
		if err := doriserr.FromStatus(<-ended); !doriserr.Is(err, doriserr.NotLeader) {
			t.Errorf("a new stream: %v", err)
		}
	})
}
