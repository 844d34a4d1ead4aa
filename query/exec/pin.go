package exec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
	"dorisgo/storage"
)

// How long a read waits for a version that the FE has and this BE does not: it
// is on its way, after a restart for instance. With alternatives the wait is for
// a publish that is under way, no more.
const (
	publishWait      = 10 * time.Second
	publishWaitShort = time.Second
)

// pin pins a tablet at its version. Its errors say where they happened.
func (e *Executor) pin(ctx context.Context, t *bepb.ScanTablet) (*storage.Snapshot, error) {
	s, err := e.Storage.Snapshot(ctx, t.PartitionId, t.TabletId, t.Version)
	if isNotYet(err) {
		if err = e.wait(ctx, t); err == nil {
			s, err = e.Storage.Snapshot(ctx, t.PartitionId, t.TabletId, t.Version)
		}
	}
	if err != nil {
		return nil, e.failed(t.TabletId, err)
	}
	return s, nil
}

func isNotYet(err error) bool {
	_, late := errors.AsType[*storage.NotYetError](err)
	return late
}

// wait waits until a tablet's version is published here.
func (e *Executor) wait(ctx context.Context, t *bepb.ScanTablet) error {
	patience := publishWait
	if t.Alternatives {
		patience = publishWaitShort
	}
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := e.Storage.WaitPublished(short, t.PartitionId, t.Version)
	if err != nil && ctx.Err() == nil {
		return doriserr.Wrap(doriserr.NotPublished, err, "it was waited for %s", patience)
	}
	return err
}

// failed is an error of reading a tablet here. The query's own end is not the
// tablet's fault.
func (e *Executor) failed(tablet int64, err error) error {
	err = fmt.Errorf("tablet %d on backend %d: %w", tablet, e.Self, err)
	if k := doriserr.KindOf(err); k == doriserr.Canceled || k == doriserr.Timeout {
		return err
	}
	return doriserr.At(err, doriserr.Place{BackendID: e.Self, TabletID: tablet})
}
