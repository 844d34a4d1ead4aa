package be

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc"

	"dorisgo/block"
	"dorisgo/fe/backends"
	ferpc "dorisgo/fe/rpc"
	"dorisgo/groupcommit"
	"dorisgo/groupcommit/wal"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/fepb"
	"dorisgo/rpc/peer"
	"dorisgo/storage"
	"dorisgo/storage/storagetest"
	"dorisgo/txnmgr"
	"dorisgo/value"
)

// frontend is an FE whose log is in memory: the real state, RPC server and
// transaction manager over a list of commands.
type frontend struct {
	pipes *peer.Pipes
	pool  *peer.Pool
	grpc  *peer.Server
	stop  context.CancelFunc
	// backends are the pipes to BEs by port: calls wait until one serves.
	backends map[int]net.Listener
	wg       sync.WaitGroup

	mu      sync.Mutex
	st      *meta.State
	log     [][]byte
	changed chan struct{}
	// gate is asked before a command is decided; an error is its answer.
	gate func(ctx context.Context, c meta.Command) error
}

const feAddr = "fe:9020"

// The ports of the lives of the BE.
const (
	firstLife  = 9061
	secondLife = 9062
)

// newFrontend starts an FE that has decided the commands of a log.
func newFrontend(t testing.TB, log [][]byte) *frontend {
	f := &frontend{
		pipes: &peer.Pipes{}, st: meta.New(), changed: make(chan struct{}), backends: map[int]net.Listener{firstLife: nil, secondLife: nil},
	}
	for _, b := range log {
		c, err := meta.DecodeCommand(b)
		if err != nil {
			t.Fatal(err)
		}
		f.apply(b, c)
	}
	f.pool = peer.NewPool("", f.pipes)
	orders := backends.New(f.pool)
	txns := txnmgr.New(txnmgr.Config{Node: f, Orders: orders, Logger: slog.New(slog.DiscardHandler)})
	f.grpc = peer.NewServer("")
	fepb.RegisterFrontendServer(f.grpc, ferpc.New(f, txns, slog.New(slog.DiscardHandler)))
	for port := range f.backends {
		f.backends[port] = f.pipes.Listen(net.JoinHostPort("be", strconv.Itoa(port)))
	}
	l := f.pipes.Listen(feAddr)
	f.wg.Go(func() {
		if err := f.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	f.wg.Go(func() { txns.Lead(ctx, uint64(len(log))+1) })
	f.stop = func() {
		cancel()
		orders.Close()
	}
	return f
}

func (f *frontend) close() {
	f.stop()
	f.grpc.Stop()
	f.wg.Wait()
	f.pool.Close()
}

// apply is called with mu held.
func (f *frontend) apply(b []byte, c meta.Command) (meta.Result, error) {
	f.log = append(f.log, b)
	res, err := f.st.Apply(uint64(len(f.log)), c)
	close(f.changed)
	f.changed = make(chan struct{})
	return res, err
}

// Propose implements txnmgr.Node and ferpc.Node.
func (f *frontend) Propose(ctx context.Context, c meta.Command) (meta.Result, error) {
	f.mu.Lock()
	gate := f.gate
	f.mu.Unlock()
	if gate != nil {
		if err := gate(ctx, c); err != nil {
			return meta.Result{}, err
		}
	}
	meta.Stamp(c, 1_700_000_000_000)
	b, err := meta.EncodeCommand(c)
	if err != nil {
		return meta.Result{}, err
	}
	if c, err = meta.DecodeCommand(b); err != nil {
		return meta.Result{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.apply(b, c)
}

func (f *frontend) setGate(gate func(ctx context.Context, c meta.Command) error) {
	f.mu.Lock()
	f.gate = gate
	f.mu.Unlock()
}

// View implements txnmgr.Node and ferpc.Node.
func (f *frontend) View(visit func(*meta.State)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	visit(f.st)
}

// Changed implements ferpc.Node.
func (f *frontend) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

// AppliedIndex implements txnmgr.Node and ferpc.Node.
func (f *frontend) AppliedIndex() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return uint64(len(f.log))
}

// Leader implements ferpc.Node.
func (f *frontend) Leader() (id, addr string, ok bool) { return "fe", feAddr, true }

// IsLeader implements ferpc.Node.
func (f *frontend) IsLeader() bool { return true }

// Ready implements ferpc.Node.
func (f *frontend) Ready() (index uint64, ok bool) { return f.AppliedIndex(), true }

// until waits for a state of the FE.
func (f *frontend) until(ctx context.Context, ok func(*meta.State) bool) error {
	for {
		changed, reached := f.Changed(), false
		f.View(func(st *meta.State) { reached = ok(st) })
		if reached {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// idle waits until every transaction is decided, visible and released.
func (f *frontend) idle(ctx context.Context) error {
	return f.until(ctx, func(st *meta.State) bool {
		for _, b := range st.Backends() {
			if st.GroupCount(b.ID) > 0 {
				return false
			}
		}
		return len(st.UndecidedTxns()) == 0 && len(st.CommittedTxns()) == 0
	})
}

// startLife starts a BE on a disk, all of it but DuckDB.
func startLife(ctx context.Context, f *frontend, fs vfs.FS, port int) (*Node, error) {
	n := newNode(Config{
		FS: fs, Roots: []string{"/storage"}, WALDirs: []string{"/wal"}, Host: "be", HeartbeatPort: 9050,
		RPC: f.backends[port], RPCPort: port,
		Leader: peer.NewLeader(f.pool, []string{feAddr}), Pool: f.pool, Logger: slog.New(slog.DiscardHandler), Heartbeat: 20 * time.Second,
		WAL:    wal.Options{Limit: "1000000000"},
		Groups: groupcommit.Options{ReplayRetryInterval: time.Second},
		Storage: storage.Options{
			Codec: storagetest.Codec{FS: fs}, InlineLimitBytes: 512, MinFreeBytes: -1, MemTableBytes: 256 << 10, CacheBytes: 1 << 20,
			Fatal: func(string, string) {},
		},
	})
	if err := n.begin(ctx); err != nil {
		_ = n.close() // the start's error says more
		return nil, err
	}
	return n, nil
}

// kill ends a life in the middle of what it does.
func kill(n *Node) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = n.Stop(ctx) // it says that something is left, as it should
}

var lifeTypes = []value.Type{{Kind: value.Int}, {Kind: value.VarChar, Length: 50}}

// makeTable makes d.t on the FE's only BE and waits until the BE knows it.
func makeTable(ctx context.Context, f *frontend, n *Node) error {
	t := &meta.Table{
		Name: "t", Keys: meta.DuplicateKeys, KeyCount: 1, DistCols: []int{0}, Buckets: 2, HashVersion: 1,
		Columns:       []meta.Column{{UniqueID: 0, Name: "id", Type: lifeTypes[0], Key: true}, {UniqueID: 1, Name: "name", Type: lifeTypes[1], Nullable: true}},
		SchemaVersion: 1, NextColumnID: 2,
		Props:      meta.Properties{ReplicationNum: 1, GroupCommitIntervalMs: 1000, GroupCommitDataBytes: 1 << 20, LightSchemaChange: true},
		Partitions: []*meta.Partition{{Name: "t"}},
	}
	for i := range t.Buckets {
		t.Partitions[0].Tablets = append(t.Partitions[0].Tablets, &meta.Tablet{Bucket: i, Replicas: []meta.Replica{{BackendID: n.ID}}})
	}
	for _, c := range []meta.Command{
		&meta.CreateDatabase{Name: "d", IfNotExists: true}, &meta.CreateTable{DB: "d", Table: t, IfNotExists: true},
	} {
		if _, err := f.Propose(ctx, c); err != nil {
			return err
		}
	}
	var index uint64 // not the log's: what a recovering BE proposes meanwhile changes no catalog
	f.View(func(st *meta.State) { index = st.CatalogIndex() })
	return n.Catalog.Wait(ctx, index)
}

// theTable is d.t.
func theTable(f *frontend) (t *meta.Table) {
	f.View(func(st *meta.State) {
		if d := st.DatabaseByName("d"); d != nil {
			t = st.TableByName(d.ID, "t")
		}
	})
	return t
}

// send gives a BE load number i.
func send(ctx context.Context, f *frontend, n *Node, mode int32, i, rows int) (*bepb.LoadReply, error) {
	return n.loads.load(ctx, loadItem(f, mode, i, rows))
}

// loadItem is load number i: rows rows with ids from i*1000.
func loadItem(f *frontend, mode int32, i, rows int) *bepb.LoadItem {
	t := theTable(f)
	b := block.New(lifeTypes)
	for r := range rows {
		b.Col(0).AppendInt64(int64(i*1000 + r))
		b.Col(1).AppendBytes(fmt.Appendf(nil, "row %d of load %d", r, i))
		b.EndRow()
	}
	id := make([]byte, 16)
	binary.BigEndian.PutUint64(id, uint64(i))
	return &bepb.LoadItem{
		RequestId: id, TableId: t.ID, SchemaVersion: t.SchemaVersion, Mode: mode, Rows: int64(rows), Block: block.AppendEncoded(nil, b), Bytes: int64(b.Bytes()),
	}
}

// readAll reads the ids of d.t at the visible version, sorted, and checks that
// the versions have no hole.
func readAll(ctx context.Context, f *frontend, n *Node) (ids []int64, err error) {
	t := theTable(f)
	part := t.Partitions[0]
	var v meta.PartitionVersion
	var list []*txn.Txn
	f.View(func(st *meta.State) {
		v, _ = st.PartitionVersion(part.ID)
		list, _ = st.PublishList(part.ID, 0)
	})
	if v.Visible != v.Committed || n.Engine.PublishedVersion(part.ID) != v.Committed {
		return nil, fmt.Errorf("versions: committed %d, visible %d, published %d", v.Committed, v.Visible, n.Engine.PublishedVersion(part.ID))
	}
	for i, tx := range list {
		if have := tx.Partitions[0].Version; have != v.Committed-int64(len(list)-1-i) {
			return nil, fmt.Errorf("version %d is at place %d of %d, and %d is committed", have, i, len(list), v.Committed)
		}
	}
	for _, tablet := range part.Tablets {
		s, err := n.Engine.Snapshot(ctx, part.ID, tablet.ID, v.Visible)
		if err != nil {
			return nil, err
		}
		ids, err = appendIDs(ctx, ids, n, s)
		if err := s.Close(); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func appendIDs(ctx context.Context, ids []int64, n *Node, s *storage.Snapshot) ([]int64, error) {
	add := func(b *block.Block) {
		for i := range b.Rows() {
			ids = append(ids, b.Col(0).Int64(i))
		}
	}
	for in, err := range s.Inline(ctx) {
		if err != nil {
			return nil, err
		}
		b, err := storagetest.Decode(in.Columns, in.Data)
		if err != nil {
			return nil, err
		}
		add(b)
	}
	for _, file := range s.Files() {
		b, err := storagetest.Codec{FS: n.cfg.FS}.Read(file)
		if err != nil {
			return nil, err
		}
		add(b)
	}
	return ids, nil
}

// VerifyLeader implements ferpc.Node.
func (f *frontend) VerifyLeader(context.Context) error { return nil }
