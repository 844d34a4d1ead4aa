package sink

import (
	"context"
	"errors"
	"io"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/groupcommit"
	"dorisgo/meta"
	"dorisgo/rpc/fepb"
)

// maxStreamBytes bounds the rows of one load that come as a stream: they become
// one rowset for each tablet, which is built in memory.
const maxStreamBytes = 1 << 30

// WriteStream is Write for blocks as they come; next returns io.EOF at the end.
func (s *Sink) WriteStream(ctx context.Context, tx Txn, t *meta.Table, next func(context.Context) (*block.Block, error)) (*Written, error) {
	rows := block.New(Types(t))
	for {
		b, err := next(ctx)
		if errors.Is(err, io.EOF) {
			return s.Write(ctx, tx, t, rows, false)
		}
		if err != nil {
			return nil, err
		}
		if rows.Bytes()+b.Bytes() > maxStreamBytes {
			return nil, doriserr.New(doriserr.ExceededLimit, "one load can hold at most %d bytes of rows: send it in parts", maxStreamBytes)
		}
		rows.AppendBlock(b)
	}
}

// CatalogIndex is the leader's index of the newest change of the catalog.
func (s *Sink) CatalogIndex(ctx context.Context) (uint64, error) {
	var index uint64
	err := s.leader.Call(ctx, func(ctx context.Context, c fepb.FrontendClient) error {
		r, err := c.CatalogIndex(ctx, &fepb.CatalogIndexRequest{})
		index = r.GetIndex()
		return err
	})
	return index, err
}

// WriteStream implements groupcommit.StreamWriter.
func (g Groups) WriteStream(ctx context.Context, t groupcommit.Txn, table *groupcommit.Table, next groupcommit.Stream) (groupcommit.Written, error) {
	def, ok := table.Def.(*meta.Table)
	if !ok {
		return nil, doriserr.New(doriserr.Internal, "BUG: table %s has no definition", table.Name)
	}
	return g.Sink.WriteStream(ctx, plain(t), def, next)
}
