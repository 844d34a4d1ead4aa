package rpc

import (
	"context"

	"dorisgo/meta/txn"
	"dorisgo/rpc/fepb"
	"dorisgo/storage"
)

// Settle removes what the storage holds of a transaction for nothing, as the
// leader's word about its outcome allows (docs/protocol.md, rule 2).
func Settle(ctx context.Context, e *storage.Engine, o *fepb.Outcome) error {
	gone := o.Gone
	switch txn.State(o.State) {
	case txn.Aborted:
		return e.Abort(ctx, o.TxnId)
	case txn.Visible:
		gone = true
		for _, p := range o.Partitions {
			gone = gone && e.PublishedVersion(p.PartitionId) >= p.Version
		}
	}
	if !gone {
		return nil
	}
	// A forgotten one may have been visible: its rowsets stay while a hole waits
	// for them.
	return e.DropLeft(ctx, o.TxnId)
}
