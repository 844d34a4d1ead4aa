package rpc

import (
	"context"
	"fmt"
	"testing"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/fepb"
)

// TestNotReady: a restarted FE is elected before it has read its log again.
// Nothing that it says then may count: a BE would take "your life is over" or
// an empty catalog for the truth.
func TestNotReady(t *testing.T) {
	n := newNode(t)
	n.unready = true
	s := newServer(n)
	ctx := t.Context()
	calls := map[string]func() error{
		"Heartbeat": func() error {
			_, err := s.Heartbeat(ctx, &fepb.HeartbeatRequest{BackendId: 10001, BootEpoch: 1})
			return err
		},
		"Register": func() error {
			_, err := s.Register(ctx, &fepb.RegisterRequest{Uuid: "u", ClusterId: "c"})
			return err
		},
		"Outcomes": func() error {
			_, err := s.Outcomes(ctx, &fepb.OutcomesRequest{TxnIds: []int64{1}})
			return err
		},
		"CatalogIndex": func() error {
			_, err := s.CatalogIndex(ctx, &fepb.CatalogIndexRequest{})
			return err
		},
		"WatchCatalog": func() error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			e := &events{ctx: ctx, ch: make(chan *fepb.CatalogEvent, 1)}
			err := s.WatchCatalog(&fepb.WatchCatalogRequest{BackendId: 10001}, e)
			if len(e.ch) > 0 {
				t.Error("WatchCatalog sent an event")
			}
			return err
		},
	}
	for name, call := range calls {
		if err := doriserr.FromStatus(call()); !doriserr.Is(err, doriserr.NotLeader) {
			t.Errorf("%s: %v, want NotLeader", name, err)
		}
	}
	n.unready = false
	for name, call := range calls {
		if name == "WatchCatalog" {
			continue // it sends the catalog now
		}
		if err := doriserr.FromStatus(call()); doriserr.Is(err, doriserr.NotLeader) {
			t.Errorf("%s once ready: %v", name, err)
		}
	}
}

// TestFollowerNamesTheLeader: every call that only the leader answers tells the
// caller where to go.
func TestFollowerNamesTheLeader(t *testing.T) {
	n := newNode(t)
	n.do(&meta.RegisterFrontend{Frontend: meta.Frontend{ID: "other", Host: "fe2", RPCAddr: "fe2:9020"}})
	n.setLeads(false)
	s := newServer(n)
	ctx := t.Context()
	errs := map[string]error{}
	_, errs["Register"] = s.Register(ctx, &fepb.RegisterRequest{Uuid: "u"})
	_, errs["Heartbeat"] = s.Heartbeat(ctx, &fepb.HeartbeatRequest{})
	_, errs["Begin"] = s.Begin(ctx, &fepb.BeginRequest{})
	_, errs["Commit"] = s.Commit(ctx, &fepb.CommitRequest{})
	_, errs["Abort"] = s.Abort(ctx, &fepb.AbortRequest{})
	_, errs["TakeOver"] = s.TakeOver(ctx, &fepb.TakeOverRequest{})
	_, errs["Release"] = s.Release(ctx, &fepb.ReleaseRequest{})
	_, errs["Outcomes"] = s.Outcomes(ctx, &fepb.OutcomesRequest{})
	_, errs["GonePartitions"] = s.GonePartitions(ctx, &fepb.GonePartitionsRequest{})
	_, errs["CatalogIndex"] = s.CatalogIndex(ctx, &fepb.CatalogIndexRequest{})
	errs["WatchCatalog"] = s.WatchCatalog(&fepb.WatchCatalogRequest{}, &events{ctx: ctx})
	command, err := meta.EncodeCommand(&meta.CreateDatabase{Name: "d"})
	if err != nil {
		t.Fatal(err)
	}
	_, errs["Change"] = s.Change(ctx, &fepb.ChangeRequest{Command: command})
	for name, err := range errs {
		err = doriserr.FromStatus(err)
		if !doriserr.Is(err, doriserr.NotLeader) || err.Error() != "fe2:9020" {
			t.Errorf("%s: %v, want NotLeader with fe2:9020", name, err)
		}
	}
}

// TestRegister starts lives of a BE.
func TestRegister(t *testing.T) {
	n := newNode(t)
	s := newServer(n)
	ctx := t.Context()
	r := &fepb.RegisterRequest{RequestId: []byte("0123456789abcdef"), Uuid: "u", Host: "h", Dirs: []*fepb.Dir{{Uuid: "r", Path: "/r"}}}
	first, err := s.Register(ctx, r)
	if err != nil || first.BootEpoch != 1 || first.ClusterId != "c" || first.MetaEpoch != 3 {
		t.Fatalf("%v, %v", first, err)
	}
	if again, err := s.Register(ctx, r); err != nil || again.BootEpoch != 1 {
		t.Errorf("a repeat of the request is a new life: %v, %v", again, err)
	}
	r.RequestId = []byte("another request!")
	if second, err := s.Register(ctx, r); err != nil || second.BootEpoch != 2 || second.BackendId != first.BackendId {
		t.Errorf("the next life: %v, %v", second, err)
	}
	_, err = s.Heartbeat(ctx, &fepb.HeartbeatRequest{BackendId: first.BackendId, BootEpoch: 1})
	if err := doriserr.FromStatus(err); !doriserr.Is(err, doriserr.StaleEpoch) {
		t.Errorf("a heartbeat of the first life: %v", err)
	}
	r.RequestId, r.ClusterId = []byte("a third request!"), "another cluster"
	_, err = s.Register(ctx, r)
	if err := doriserr.FromStatus(err); !doriserr.Is(err, doriserr.Conflict) {
		t.Errorf("directories of another cluster: %v", err)
	}
}

// TestHeartbeat: it brings a BE back that counted as dead, and what is durable
// goes into the log.
func TestHeartbeat(t *testing.T) {
	n := newNode(t)
	s := newServer(n)
	be := n.do(&meta.RegisterBackend{UUID: "u", Host: "h"}).ID
	n.do(&meta.CreateDatabase{Name: "d"})
	n.do(&meta.CreateTable{DB: "d", Table: table("t", be)})
	n.do(&meta.SetBackendAlive{ID: be, BootEpoch: 1})
	tb := n.tableByName("d", "t")
	part := tb.Partitions[0]
	tx := n.do(&meta.BeginTxn{DBID: tb.DBID, TableID: tb.ID, TableEpoch: tb.Epoch, SchemaVersion: 1, Label: "l", TimeoutMs: 1000})
	n.do(&meta.CommitTxn{TxnID: tx.ID, Partitions: []txn.PartitionCommit{{PartitionID: part.ID, Tablets: []txn.TabletCommit{
		{TabletID: part.Tablets[0].ID, RowsetID: [16]byte{1}, Rows: 1, Backends: []int64{be}},
	}}}})
	before := time.Now()
	if _, err := s.Heartbeat(t.Context(), &fepb.HeartbeatRequest{BackendId: be, BootEpoch: 1, Tablets: 4, Durable: map[int64]int64{part.ID: 2}}); err != nil {
		t.Fatal(err)
	}
	n.View(func(st *meta.State) {
		if !st.Backend(be).Alive {
			t.Error("the BE still counts as dead")
		}
		if v := st.DurableThrough(part.ID, be); v != 2 {
			t.Errorf("durable through %d", v)
		}
	})
	if b := s.Beats()[be]; b.Tablets != 4 || b.At.Before(before) {
		t.Errorf("beat %+v", b)
	}
}

// TestTakeOverTellsTheTable: a replaying BE hears whether its table lives.
func TestTakeOverTellsTheTable(t *testing.T) {
	for _, tc := range []struct {
		drop meta.Command
		want fepb.TableFate
	}{
		{nil, fepb.TableFate_TABLE_LIVES},
		{&meta.DropTable{DB: "d", Name: "t"}, fepb.TableFate_TABLE_RECYCLED},
		{&meta.DropTable{DB: "d", Name: "t", Force: true}, fepb.TableFate_TABLE_ERASED},
	} {
		t.Run(fmt.Sprint(tc.want), func(t *testing.T) {
			n := newNode(t)
			s := newServer(n)
			be := n.do(&meta.RegisterBackend{UUID: "u", Host: "h"}).ID
			n.do(&meta.CreateDatabase{Name: "d"})
			n.do(&meta.CreateTable{DB: "d", Table: table("t", be)})
			tb := n.tableByName("d", "t")
			tx, err := s.Begin(t.Context(), &fepb.BeginRequest{
				RequestId: []byte("0123456789abcdef"), DbId: tb.DBID, TableId: tb.ID, TableEpoch: tb.Epoch, SchemaVersion: 1, Label: "group_commit_1",
				Owner: &fepb.Owner{BackendId: be, BootEpoch: 1}, Group: true, Async: true, TimeoutMs: 1000,
			})
			if err != nil {
				t.Fatal(err)
			}
			if tc.drop != nil {
				n.do(tc.drop)
			}
			n.do(&meta.RegisterBackend{UUID: "u", Host: "h", LastBootEpoch: 1})
			got, err := s.TakeOver(t.Context(), &fepb.TakeOverRequest{TxnId: tx.TxnId, BackendId: be, BootEpoch: 2})
			if err != nil || got.Table != tc.want || got.OwnerEpoch != 2 || got.Label != "group_commit_1" || txn.State(got.State) != txn.Prepare {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// TestOutcomes: a transaction that the FE does not know has no outcome.
func TestOutcomes(t *testing.T) {
	n := newNode(t)
	s := newServer(n)
	be := n.do(&meta.RegisterBackend{UUID: "u", Host: "h"}).ID
	n.do(&meta.CreateDatabase{Name: "d"})
	n.do(&meta.CreateTable{DB: "d", Table: table("t", be)})
	tb := n.tableByName("d", "t")
	tx := n.do(&meta.BeginTxn{DBID: tb.DBID, TableID: tb.ID, TableEpoch: tb.Epoch, SchemaVersion: 1, Label: "l", TimeoutMs: 1000}).ID
	n.do(&meta.AbortTxn{TxnID: tx})
	got, err := s.Outcomes(t.Context(), &fepb.OutcomesRequest{TxnIds: []int64{tx, 999}})
	if err != nil || len(got.Outcomes) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if s := txn.State(got.Outcomes[0].State); s != txn.Aborted {
		t.Errorf("the aborted one is %s", s)
	}
	if o := got.Outcomes[1]; o.State != 0 || o.Gone {
		t.Errorf("the unknown one is %v", o)
	}
	n.do(&meta.CleanLabel{DBID: tb.DBID})
	got, err = s.Outcomes(t.Context(), &fepb.OutcomesRequest{TxnIds: []int64{tx, 999, 0}})
	if err != nil || !got.Outcomes[0].Gone || got.Outcomes[1].Gone || got.Outcomes[2].Gone {
		t.Errorf("after its label was cleaned: %v, %v", got, err)
	}
}
