package peer

import (
	"context"
	"encoding/binary"
	"sync"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"dorisgo/doriserr"
)

// PublishService is the service of a BE that takes the publish orders of FEs: a
// bepb.PublishRequest in each call, a bepb.PublishReply in answer.
const PublishService = "publish"

// keepWorkers is how many goroutines of a connection wait for its next calls: a
// new one would have to grow its stack again in each call.
const keepWorkers = 4

// HandleCalls makes a server answer Calls to a service. handle runs on a goroutine
// of the call's own; its context ends when nobody waits for the answer any more,
// and its reply may be nil.
func HandleCalls[M any, R interface {
	*M
	proto.Message
}](s *Server, service string, handle func(context.Context, R) (proto.Message, error)) {
	s.HandleMessages(service, func(m *Messages, stop <-chan struct{}) {
		ctx, cancel := context.WithCancel(m.ctx)
		h := &callServer{m: m, cancels: map[uint64]context.CancelFunc{}, work: make(chan func()), keep: make(chan struct{}, keepWorkers)}
		h.wg.Go(func() {
			select {
			case <-stop:
				m.deafen()
			case <-ctx.Done():
			}
		})
		for {
			b, err := m.Recv()
			if err != nil || len(b) < headBytes {
				break
			}
			id := binary.LittleEndian.Uint64(b[1:])
			if b[0] == callGivenUp {
				h.cancel(id)
				continue
			}
			r := R(new(M))
			if err := proto.Unmarshal(b[headBytes:], r); err != nil {
				h.answer(id, nil, doriserr.Wrap(doriserr.Corrupt, err, "a call cannot be read"))
				continue
			}
			callCtx := h.begin(ctx, id)
			h.run(func() {
				reply, err := handle(callCtx, r)
				h.cancel(id)
				h.answer(id, reply, err)
			})
		}
		if !m.deaf.Load() { // otherwise what was read is still answered
			m.Close() // ends ctx, and answers that nobody reads
		}
		close(h.work)
		h.calls.Wait()
		cancel()
		h.wg.Wait()
	})
}

// callServer is what is under way on one connection.
type callServer struct {
	m *Messages

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc

	work  chan func()
	keep  chan struct{} // has room for the workers that wait
	calls sync.WaitGroup
	wg    sync.WaitGroup
}

// run runs f on a goroutine that waits for work, or on a new one.
func (h *callServer) run(f func()) {
	select {
	case h.work <- f:
		return
	default:
	}
	h.calls.Go(func() {
		for f := f; f != nil; {
			f()
			select {
			case h.keep <- struct{}{}:
			default:
				return // enough of them wait
			}
			f = <-h.work // nil once it is closed
			<-h.keep
		}
	})
}

func (h *callServer) begin(ctx context.Context, id uint64) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cancels[id] = cancel
	return ctx
}

func (h *callServer) cancel(id uint64) {
	h.mu.Lock()
	cancel := h.cancels[id]
	delete(h.cancels, id)
	h.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// answer sends an answer. If it cannot, the connection is over and nobody waits.
func (h *callServer) answer(id uint64, reply proto.Message, err error) {
	_ = h.m.Send(h.m.ctx, func(b []byte) ([]byte, error) {
		if err != nil {
			s, _ := status.FromError(doriserr.ToStatus(err))
			return proto.MarshalOptions{}.MarshalAppend(binary.LittleEndian.AppendUint64(append(b, callFailed), id), s.Proto())
		}
		b = binary.LittleEndian.AppendUint64(append(b, callDone), id)
		if reply == nil {
			return b, nil
		}
		return proto.MarshalOptions{}.MarshalAppend(b, reply)
	})
}
