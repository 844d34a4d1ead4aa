package sink

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/groupcommit"
	"dorisgo/meta"
	"dorisgo/rpc/fepb"
)

// streamBytes is how much of the blocks of all streamed loads may be on its way
// to the replicas at a time, in bytes. Sorting and encoding need about twice as
// much again.
const streamBytes = 64 << 20

// WriteStream is Write for blocks as they come; next returns io.EOF at the end.
// Each block becomes rowsets of its own, so that a load of any size takes the
// memory of a few blocks: one is written while the following one is read.
// Before it asks for a block, the one before was accounted for here.
func (s *Sink) WriteStream(ctx context.Context, tx Txn, t *meta.Table, next func(context.Context) (*block.Block, error)) (*Written, error) {
	w := newWrite(s, tx, t, false)
	w.stream = true
	// A write that fails ends the reading of the body, with the write's error.
	// A body that fails lets the write under way end: its context is ctx, not
	// the group's.
	g, reading := errgroup.WithContext(ctx)
	for {
		b, err := next(reading)
		if errors.Is(err, io.EOF) {
			if err := g.Wait(); err != nil {
				return nil, err
			}
			return w.written(), nil
		}
		if err != nil {
			if failed := g.Wait(); failed != nil {
				err = failed
			}
			return nil, err
		}
		size := min(int64(b.Bytes()), streamBytes)
		if err := s.streams.Acquire(ctx, size); err != nil {
			return nil, errors.Join(g.Wait(), err)
		}
		if err := g.Wait(); err != nil {
			s.streams.Release(size)
			return nil, err
		}
		g, reading = errgroup.WithContext(ctx)
		g.Go(func() error {
			defer s.streams.Release(size)
			return w.add(ctx, b)
		})
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
