package be

import (
	"context"
	"log/slog"
	"sync"

	"dorisgo/be/sink"
	"dorisgo/doriserr"
	"dorisgo/rpc/fepb"
)

// settler ends plain transactions whose load ended without a decision: the
// client or its FE went away, or the time was up, while the FE was asked. Left
// alone they stay open for their time-out, hours, with their label and their
// place in the quota. Whoever waited for such a load was told that its outcome
// is not known, so an abort is as true as a commit that came first
// (docs/protocol.md, rule 5). It is safe for concurrent use.
type settler struct {
	sink *sink.Sink
	log  *slog.Logger

	mu   sync.Mutex
	todo []undecided
	wake chan struct{}
}

// undecided is a transaction that may be open.
type undecided struct {
	// begin is set if it is not known whether the transaction exists; asking
	// again gives the same one.
	begin  *fepb.BeginRequest
	tx     sink.Txn
	reason string
}

func newSettler(s *sink.Sink, log *slog.Logger) *settler {
	return &settler{sink: s, log: log, wake: make(chan struct{}, 1)}
}

// add hands a transaction over and does not wait.
func (s *settler) add(u undecided) {
	s.mu.Lock()
	s.todo = append(s.todo, u)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// settlersAtOnce bounds the questions to the FE after it was away.
const settlersAtOnce = 16

// run settles until ctx ends; what is left then ends with this life of the BE,
// at the latest when the next one registers.
func (s *settler) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	places := make(chan struct{}, settlersAtOnce)
	for {
		s.mu.Lock()
		todo := s.todo
		s.todo = nil
		s.mu.Unlock()
		for _, u := range todo {
			select {
			case <-ctx.Done():
				return
			case places <- struct{}{}:
			}
			wg.Go(func() {
				defer func() { <-places }()
				s.settle(ctx, u)
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
	}
}

// settle asks until the FE has decided: sink asks again as long as ctx lives.
func (s *settler) settle(ctx context.Context, u undecided) {
	if u.begin != nil {
		var err error
		if u.tx, err = s.sink.Begin(ctx, u.begin); err != nil {
			return // there is no such transaction, or this life ends
		}
	}
	err := s.sink.Abort(ctx, u.tx, u.reason)
	switch {
	case err == nil:
		s.log.Info("a transaction without an outcome was aborted", "txn_id", u.tx.ID, "label", u.tx.Label, "reason", u.reason)
	case ctx.Err() == nil && !doriserr.Is(err, doriserr.TxnState) && !doriserr.Is(err, doriserr.TxnNotFound):
		s.log.Warn("a transaction without an outcome was not aborted", "txn_id", u.tx.ID, "label", u.tx.Label, "err", err)
	}
}
