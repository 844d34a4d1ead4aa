package txnmgr

import (
	"context"
	"sync"
	"time"

	"dorisgo/meta"
	"dorisgo/meta/txn"
)

// reportHold is how long a BE's report of a publish waits for those of others.
// BEs get their orders together, so that the others are a few milliseconds away
// at most unless they are slow or absent; the BE's next order waits as well.
const reportHold = 5 * time.Millisecond

// reports gathers, for each transaction, the BEs that published it, until they
// make it VISIBLE: one entry of the log for a transaction in place of one for
// each BE, and no write of the log that the decisive one has to wait for.
type reports struct {
	m *Manager

	mu   sync.Mutex
	open map[int64]*report
}

// report is what is gathered of a transaction. backends and enough are guarded by
// reports.mu, err is set before done is closed.
type report struct {
	backends []int64
	// enough says that the backends make it VISIBLE and that the log is being
	// told: whoever comes now has nothing to add and waits for the answer.
	enough bool
	done   chan struct{}
	err    error
}

func newReports(m *Manager) *reports { return &reports{m: m, open: map[int64]*report{}} }

// add tells the log that a BE published a transaction, with the reports of other
// BEs, and returns when the log knows, or when nothing depends on it any more. An
// error says that the log may not know: the order is to be repeated.
func (r *reports) add(ctx context.Context, txnID, backendID int64) error {
	for {
		mine, in, last := r.join(txnID, backendID)
		switch {
		case mine == nil:
			return nil
		case last:
			r.tell(ctx, txnID, mine)
		case in:
			hold, cancel := context.WithTimeout(ctx, reportHold)
			select {
			case <-mine.done:
			case <-hold.Done():
				if r.take(txnID, mine) {
					r.tell(ctx, txnID, mine)
				}
			}
			cancel()
		}
		<-mine.done // who tells it has a context that ends
		if in || mine.err != nil {
			return mine.err
		}
		// It went without this BE. If it still waits, for an earlier version, one of
		// those that were enough may be lost before its turn comes.
	}
}

// join puts a BE into a transaction's report, unless it is on its way already: in
// says so. If that makes it enough the report is the caller's to tell: last. It is
// nil if the transaction waits for no BE any more.
func (r *reports) join(txnID, backendID int64) (mine *report, in, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	mine = r.open[txnID]
	if mine != nil && mine.enough {
		return mine, false, false
	}
	waits := false
	r.m.cfg.Node.View(func(s *meta.State) {
		t := s.Txn(txnID)
		waits = t != nil && t.State == txn.Committed
	})
	if !waits {
		return nil, false, false
	}
	if mine == nil {
		mine = &report{done: make(chan struct{})}
		r.open[txnID] = mine
	}
	mine.backends = append(mine.backends, backendID)
	r.m.cfg.Node.View(func(s *meta.State) { mine.enough = s.EnoughPublished(txnID, mine.backends) })
	return mine, true, mine.enough
}

// take makes a report that is not enough the caller's to tell, unless somebody else
// has it.
func (r *reports) take(txnID int64, mine *report) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[txnID] != mine || mine.enough {
		return false
	}
	delete(r.open, txnID)
	return true
}

// tell proposes a report that no BE is added to any more.
func (r *reports) tell(ctx context.Context, txnID int64, mine *report) {
	defer r.m.observe("report", time.Now())
	_, mine.err = r.m.cfg.Node.Propose(ctx, &meta.PublishDone{TxnID: txnID, BackendIDs: mine.backends})
	r.mu.Lock()
	if r.open[txnID] == mine {
		delete(r.open, txnID)
	}
	r.mu.Unlock()
	close(mine.done)
}
