package groupcommit

import (
	"context"
	"errors"
	"time"

	"dorisgo/doriserr"
)

// decided tells a decision of the FSM from everything else. Only after a
// decision may anything be deleted or a load be called failed (docs/protocol.md,
// rule 5). An error that is not a *doriserr.Error comes from a connection.
func decided(err error) bool {
	e, ok := errors.AsType[*doriserr.Error](err)
	if !ok {
		return false
	}
	switch e.Kind {
	case doriserr.Unknown, doriserr.Internal, doriserr.Timeout, doriserr.Canceled, doriserr.Stopping,
		doriserr.NotLeader, doriserr.NotAdmitted, doriserr.NoBackend, doriserr.NoPrivilege:
		return false
	}
	return true
}

// notInLog says that the command surely had no effect.
func notInLog(err error) bool {
	return doriserr.Is(err, doriserr.NotLeader) || doriserr.Is(err, doriserr.NotAdmitted)
}

var errStopping = doriserr.New(doriserr.Stopping, "be is stopping")

// notJoined is the answer to a load whose time is up before it joined a group:
// none of its rows is stored.
func notJoined(ctx context.Context, waitedFor string, cause error) error {
	if cause != nil {
		return doriserr.Wrap(doriserr.NotAdmitted, cause, "timeout: the load waited for %s and was not stored", waitedFor)
	}
	return doriserr.Wrap(doriserr.NotAdmitted, ctx.Err(), "timeout: the load waited for %s and was not stored", waitedFor)
}

// notBegun is the answer to loads whose group could not begin.
func notBegun(err error) error {
	if decided(err) || doriserr.Is(err, doriserr.Stopping) {
		return err
	}
	return doriserr.Wrap(doriserr.NotAdmitted, err, "no group can be opened, the load was not stored")
}

// asClientError is the answer to the waiters of a sync group that failed.
func asClientError(err error) error {
	if decided(err) {
		return err
	}
	return doriserr.Wrap(doriserr.Internal, err, "group commit failed, none of its rows is stored")
}

// unknownSync is the answer to a sync load whose time is up. All loads of a
// sync group share its fate, so the label's state tells it.
func unknownSync(label string) error {
	return doriserr.New(doriserr.Unknown, "timeout: the outcome of the load is unknown, it is that of label %s", label)
}

// unknownAsync is the answer to an async load whose record was not confirmed.
// It names no label: a replay may bring the group without this load.
func unknownAsync() error {
	return doriserr.New(doriserr.Unknown, "timeout: the outcome of the load is unknown, its rows may appear later")
}

// backoff is the pause before asking again.
type backoff struct{ next, most time.Duration }

func newBackoff() backoff { return backoff{50 * time.Millisecond, time.Second} }

// wait pauses, each time longer; false if stop or ctx ended it.
func (b *backoff) wait(ctx context.Context, stop <-chan struct{}) bool {
	timer := time.NewTimer(b.next)
	defer timer.Stop()
	b.next = min(2*b.next, b.most)
	select {
	case <-timer.C:
		return true
	case <-stop:
	case <-ctx.Done():
	}
	return false
}
