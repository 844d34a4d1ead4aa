package peer

import (
	"context"
	"time"

	"google.golang.org/grpc/metadata"

	"dorisgo/doriserr"
)

// Headed is the client's end of a stream. A server of ours sends the header as
// soon as it has taken the call.
type Headed interface {
	Header() (metadata.MD, error)
}

// Taken opens a stream and returns when the peer has taken the call, which says
// nothing of how long the work takes. A peer that does not within wait, because
// it hangs or cannot be dialled, is given up with Unknown, long before the
// connection counts as broken; the stream's context is over then. ctx bounds the
// stream as well.
func Taken[S Headed](ctx context.Context, wait time.Duration, open func(context.Context) (S, error)) (S, error) {
	silent := doriserr.New(doriserr.Unknown, "it did not take the call within %s", wait)
	streamCtx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(wait, func() { cancel(silent) })
	s, err := open(streamCtx)
	if err == nil {
		_, err = s.Header()
	}
	if !timer.Stop() {
		err = silent
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		err = doriserr.FromStatus(err)
		cancel(err)
	}
	return s, err
}
