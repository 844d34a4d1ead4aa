package catalog

import (
	"context"
	"log/slog"
	"time"

	"dorisgo/doriserr"
	"dorisgo/rpc/fepb"
	"dorisgo/rpc/peer"
)

// Follow keeps the copy up to date from the leading FE until ctx ends. When the
// stream breaks it is opened again and starts with a new snapshot.
func (c *Catalog) Follow(ctx context.Context, leader *peer.Leader, backendID int64, log *slog.Logger) {
	wait := 20 * time.Millisecond
	for ctx.Err() == nil {
		started := time.Now()
		err := leader.Call(ctx, func(ctx context.Context, fe fepb.FrontendClient) error {
			stream, err := fe.WatchCatalog(ctx, &fepb.WatchCatalogRequest{BackendId: backendID})
			if err != nil {
				return err
			}
			for {
				ev, err := stream.Recv()
				if err != nil {
					return err
				}
				if err := c.Apply(ev); err != nil {
					return err
				}
			}
		})
		if ctx.Err() != nil {
			return
		}
		log.Warn("the catalog stream ended and is opened again", "err", doriserr.FromStatus(err))
		if time.Since(started) > 10*time.Second {
			wait = 20 * time.Millisecond
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, time.Second)
	}
}
