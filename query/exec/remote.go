package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/peer"
)

// takeWait is how long another BE may need to take a scan. One that hangs is
// given up after it; one whose scan lasts is not.
const takeWait = 3 * time.Second

// remoteRows streams the rows of other BEs' tablets, all BEs at a time, a few
// blocks ahead of who takes them.
func (e *Executor) remoteRows(ctx context.Context, queryID string, t *bepb.QueryTable, remote map[int64][]*bepb.ScanTablet) iter.Seq2[*block.Block, error] {
	return func(yield func(*block.Block, error) bool) {
		g, ctx := errgroup.WithContext(ctx)
		ctx, cancel := context.WithCancel(ctx)
		blocks := make(chan *block.Block, 2*len(remote))
		for backend, tablets := range remote {
			g.Go(func() error {
				r := &bepb.ScanRequest{QueryId: queryID, TableId: t.TableId, Columns: t.Columns, Tablets: tablets}
				if err := e.fetch(ctx, backend, r, blocks); err != nil {
					return failedThere(backend, tablets, err)
				}
				return nil
			})
		}
		done := make(chan error, 1)
		go func() {
			err := g.Wait()
			close(blocks)
			done <- err
		}()
		wanted := true
		for b := range blocks {
			if wanted && !yield(b, nil) {
				wanted = false
				cancel()
			}
		}
		cancel()
		if err := <-done; err != nil && wanted {
			yield(nil, err)
		}
	}
}

// failedThere is an error of a scan on another backend. A backend that could not
// be reached is the place of the error, unless it named a tablet itself.
func failedThere(backend int64, tablets []*bepb.ScanTablet, err error) error {
	if _, named := doriserr.PlaceOf(err); named {
		return err
	}
	kind := doriserr.KindOf(err)
	err = fmt.Errorf("tablet %d on backend %d: %w", tablets[0].TabletId, backend, err)
	switch kind {
	case doriserr.Unknown, doriserr.NoBackend, doriserr.Stopping:
		return doriserr.At(err, doriserr.Place{BackendID: backend})
	}
	return err
}

// fetch receives the rows of one BE.
func (e *Executor) fetch(ctx context.Context, backend int64, r *bepb.ScanRequest, out chan<- *block.Block) error {
	scan, err := peer.Taken(ctx, takeWait, func(ctx context.Context) (bepb.Backend_ScanClient, error) { return e.Peers.Scan(ctx, backend, r) })
	if err != nil {
		return err
	}
	kinds := types(r.Columns)
	for {
		chunk, err := scan.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return doriserr.FromStatus(err)
		}
		b := block.New(kinds)
		if _, err := block.DecodeAppend(b, chunk.Block); err != nil {
			return err
		}
		select {
		case out <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
