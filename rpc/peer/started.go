package peer

import (
	"context"

	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
)

// Started is a load that was handed over, and whose answer its sender does not
// wait for on a goroutine. It is used by one goroutine at a time, but for Kick.
type Started interface {
	// Kick lets the load go, with those that were handed over before. Who
	// starts several loads in a row kicks after the last of them. Any goroutine
	// may call it, also after Reply.
	Kick()
	// Local says that Kick makes goroutines of this process do the work.
	Local() bool
	// Ready reports whether Reply would return at once.
	Ready() bool
	// Reply waits for the answer and is called once.
	Reply(ctx context.Context) (*bepb.LoadReply, error)
}

// sending is a load on a stream that waits for its answer.
type sending struct {
	client *LoadClient
	seq    uint64
	reply  chan *bepb.LoadReply // has room for the one answer
	// wake, if it is set, is called once the answer is there.
	wake func()
	sent bool // under LoadClient.mu: it left, or is about to
}

// answer is called once, under LoadClient.mu.
func (w *sending) answer(r *bepb.LoadReply) {
	wake := w.wake // w is its waiter's once the answer is there
	w.reply <- r
	if wake != nil {
		wake()
	}
}

// Kick implements Started.
func (w *sending) Kick() { w.client.kick() }

// Local implements Started.
func (w *sending) Local() bool { return false }

// Ready implements Started.
func (w *sending) Ready() bool { return len(w.reply) > 0 }

// Reply implements Started.
func (w *sending) Reply(ctx context.Context) (*bepb.LoadReply, error) {
	select {
	case r := <-w.reply:
		w.client.spare.Put(w)
		if r.ErrorKind != 0 {
			return r, &doriserr.Error{Kind: doriserr.Kind(r.ErrorKind - 1), Msg: r.Error}
		}
		return r, nil
	case <-ctx.Done():
		return nil, w.client.giveUp(w.seq, ctx.Err())
	}
}
