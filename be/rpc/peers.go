package rpc

import (
	"context"
	"net"
	"slices"
	"strconv"

	"dorisgo/be/catalog"
	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/peer"
	"dorisgo/storage"
	"dorisgo/storage/rowset"
)

const (
	// writeChunk is the size at which rowsets for another BE are sent on.
	writeChunk = 4 << 20
	// smallWrite is up to which size rowsets go in one message and not by gRPC,
	// whose flow control is for more.
	smallWrite = 1 << 20
	// writeService takes a WriteRowsetsRequest in each call, peer.PublishService a
	// PublishRequest.
	writeService = "write"
)

// Peers reaches backends by id: this one directly, others by gRPC.
type Peers struct {
	Self    int64
	Engine  *storage.Engine
	Catalog *catalog.Catalog
	Pool    *peer.Pool
}

func (p *Peers) addr(id int64) (string, error) {
	b, ok := p.Catalog.Backend(id)
	if !ok {
		return "", doriserr.New(doriserr.NoBackend, "Backend [%d] does not exist", id)
	}
	return net.JoinHostPort(b.Host, strconv.Itoa(b.RPCPort)), nil
}

func (p *Peers) client(id int64) (bepb.BackendClient, error) {
	addr, err := p.addr(id)
	if err != nil {
		return nil, err
	}
	conn, err := p.Pool.Conn(addr)
	if err != nil {
		return nil, err
	}
	return bepb.NewBackendClient(conn), nil
}

// WriteRowsets stores rowsets on a backend, durably.
func (p *Peers) WriteRowsets(ctx context.Context, id int64, r *bepb.WriteRowsetsRequest) error {
	if id == p.Self {
		return write(ctx, p.Engine, r)
	}
	if b, ok := p.Catalog.Backend(id); ok && !b.Alive {
		return doriserr.New(doriserr.NoBackend, "it is not alive")
	}
	size := 0
	for _, rs := range r.Rowsets {
		size += len(rs.Data)
	}
	if size <= smallWrite {
		addr, err := p.addr(id)
		if err != nil {
			return err
		}
		return p.Pool.Calls(addr, writeService).Call(ctx, r, nil)
	}
	return p.streamRowsets(ctx, id, r)
}

// streamRowsets is WriteRowsets in as many messages as it takes.
func (p *Peers) streamRowsets(ctx context.Context, id int64, r *bepb.WriteRowsetsRequest) error {
	c, err := p.client(id)
	if err != nil {
		return err
	}
	stream, err := c.WriteRowsets(ctx)
	if err != nil {
		return doriserr.FromStatus(err)
	}
	rowsets := r.Rowsets
	for first := true; first || len(rowsets) > 0; first = false {
		n, size := 0, 0
		for n < len(rowsets) && (n == 0 || size < writeChunk) {
			size += len(rowsets[n].Data)
			n++
		}
		part := &bepb.WriteRowsetsRequest{
			TxnId: r.TxnId, OwnerEpoch: r.OwnerEpoch, TableId: r.TableId, SchemaVersion: r.SchemaVersion,
			Columns: r.Columns, Rowsets: rowsets[:n], Replay: r.Replay, Replicas: replicasOf(r.Replicas, rowsets[:n]),
		}
		if err := stream.Send(part); err != nil {
			break // CloseAndRecv has the reason
		}
		rowsets = rowsets[n:]
	}
	_, err = stream.CloseAndRecv()
	return doriserr.FromStatus(err)
}

// replicasOf are the replicas that rowsets are for.
func replicasOf(all []*bepb.TabletReplica, rowsets []*bepb.Rowset) []*bepb.TabletReplica {
	if len(rowsets) == len(all) {
		return all
	}
	var out []*bepb.TabletReplica
	for _, rs := range rowsets {
		if i := slices.IndexFunc(all, func(r *bepb.TabletReplica) bool { return r.TabletId == rs.TabletId }); i >= 0 {
			out = append(out, all[i])
		}
	}
	return out
}

// Fetch streams a tablet's rowsets from another backend.
func (p *Peers) Fetch(ctx context.Context, id int64, r *bepb.FetchTabletRequest) (bepb.Backend_FetchTabletClient, error) {
	c, err := p.client(id)
	if err != nil {
		return nil, err
	}
	stream, err := c.FetchTablet(ctx, r)
	return stream, doriserr.FromStatus(err)
}

// Scan streams rows of another backend's tablets.
func (p *Peers) Scan(ctx context.Context, id int64, r *bepb.ScanRequest) (bepb.Backend_ScanClient, error) {
	c, err := p.client(id)
	if err != nil {
		return nil, err
	}
	return c.Scan(ctx, r)
}

// write stores one request's rowsets in one batch for each root.
func write(ctx context.Context, e *storage.Engine, r *bepb.WriteRowsetsRequest) error {
	cols := make([]storage.ColumnDesc, len(r.Columns))
	for i, c := range r.Columns {
		cols[i] = storage.ColumnDesc{UniqueID: c.UniqueId, Name: c.Name, Type: columnType(c), Nullable: c.Nullable, Key: c.Key}
	}
	replicas := map[int64]*bepb.TabletReplica{}
	for _, replica := range r.Replicas {
		replicas[replica.TabletId] = replica
	}
	for _, rs := range r.Rowsets {
		if replicas[rs.TabletId] == nil {
			return doriserr.New(doriserr.Internal, "BUG: a rowset of tablet %d came without its replica", rs.TabletId)
		}
	}
	pending := make([]storage.PendingRowset, len(r.Rowsets))
	for i, rs := range r.Rowsets {
		if len(rs.Id) != len(rowset.ID{}) {
			return doriserr.New(doriserr.Corrupt, "a rowset id has %d bytes, not %d", len(rs.Id), len(rowset.ID{}))
		}
		pending[i] = storage.PendingRowset{
			RowsetMeta: storage.RowsetMeta{
				ID: rowset.ID(rs.Id), TabletID: rs.TabletId, PartitionID: rs.PartitionId, TxnID: r.TxnId, SchemaVersion: r.SchemaVersion,
				Columns: cols, Rows: rs.Rows, Bytes: int64(len(rs.Data)), Checksum: rs.Checksum,
			},
			Data: rs.Data, ReplicaID: replicas[rs.TabletId].GetReplicaId(), FromClone: replicas[rs.TabletId].GetFromClone(),
		}
	}
	if r.Replay {
		return e.WriteReplayed(ctx, r.TxnId, r.OwnerEpoch, pending)
	}
	return e.WritePending(ctx, r.TxnId, r.OwnerEpoch, pending)
}
