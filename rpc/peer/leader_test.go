package peer

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"dorisgo/doriserr"
	"dorisgo/rpc/fepb"
)

// frontend is an FE whose Begin is answered by a function.
type frontend struct {
	fepb.UnimplementedFrontendServer
	mu     sync.Mutex
	calls  int
	answer func(call int) error
}

// Begin implements fepb.FrontendServer.
func (f *frontend) Begin(context.Context, *fepb.BeginRequest) (*fepb.BeginReply, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	return &fepb.BeginReply{TxnId: 7}, f.status()
}

// status is the answer as the FE's server sends it; f.mu is held.
func (f *frontend) status() error {
	err := f.answer(f.calls)
	if _, ok := status.FromError(err); ok {
		return err // of the transport
	}
	return doriserr.ToStatus(err)
}

func (f *frontend) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// cluster runs FEs at fe0:1, fe1:1, … and gives a client that knows the first.
func cluster(t *testing.T, run func(t *testing.T, l *Leader, fes []*frontend), answers ...func(call int) error) {
	synctest.Test(t, func(t *testing.T) {
		pipes := &Pipes{}
		var wg sync.WaitGroup
		var fes []*frontend
		var servers []*Server
		for i, answer := range answers {
			fe := &frontend{answer: answer}
			srv := NewServer("")
			fepb.RegisterFrontendServer(srv, fe)
			listener := pipes.Listen(addrs[i])
			wg.Go(func() {
				if err := srv.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
					t.Error(err)
				}
			})
			fes, servers = append(fes, fe), append(servers, srv)
		}
		pool := NewPool("", pipes)
		run(t, NewLeader(pool, addrs[:1]), fes)
		pool.Close()
		for _, s := range servers {
			s.Stop()
		}
		wg.Wait()
	})
}

var addrs = []string{"fe0:1", "fe1:1", "fe2:1"}

func begin(ctx context.Context, c fepb.FrontendClient) error {
	_, err := c.Begin(ctx, &fepb.BeginRequest{})
	return err
}

func TestLeaderIsFollowed(t *testing.T) {
	cluster(t, func(t *testing.T, l *Leader, fes []*frontend) {
		if err := l.Call(t.Context(), begin); err != nil {
			t.Error(err)
		}
		if err := l.Call(t.Context(), begin); err != nil {
			t.Error(err)
		}
		if n := fes[0].count(); n != 1 || fes[1].count() != 2 || l.Addr() != addrs[1] {
			t.Errorf("the follower was asked %d times, the leader %d, next is %s", n, fes[1].count(), l.Addr())
		}
	}, func(int) error { return NotLeaderError(addrs[1]) }, func(int) error { return nil })
}

// TestLeaderRepeats: what may have taken effect is asked again, a decision is
// not.
func TestLeaderRepeats(t *testing.T) {
	cluster(t, func(t *testing.T, l *Leader, fes []*frontend) {
		err := l.Call(t.Context(), begin)
		if !doriserr.Is(err, doriserr.LabelExists) || fes[0].count() != 4 {
			t.Errorf("%v after %d calls", err, fes[0].count())
		}
	}, func(call int) error {
		switch call {
		case 1:
			return NotLeaderError("")
		case 2:
			return status.Error(codes.Unavailable, "connection reset")
		case 3:
			return doriserr.New(doriserr.Unknown, "leadership lost")
		}
		return doriserr.New(doriserr.LabelExists, "exists")
	})
}

// TestLeaderNamesEachOther: FEs that disagree are not asked without a pause.
func TestLeaderNamesEachOther(t *testing.T) {
	cluster(t, func(t *testing.T, l *Leader, fes []*frontend) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := l.Call(ctx, begin)
		if !doriserr.Is(err, doriserr.NotLeader) {
			t.Errorf("nobody can have done anything, and the error is %v", err)
		}
		if n := fes[0].count() + fes[1].count(); n > 100 {
			t.Errorf("%d calls in ten seconds", n)
		}
	}, func(int) error { return NotLeaderError(addrs[1]) }, func(int) error { return NotLeaderError(addrs[0]) })
}

// TestLeaderDoubt: a call that may have taken effect and then found no leader is
// Unknown, never NotLeader (docs/protocol.md, rule 5).
func TestLeaderDoubt(t *testing.T) {
	cluster(t, func(t *testing.T, l *Leader, _ []*frontend) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := l.Call(ctx, begin); !doriserr.Is(err, doriserr.Unknown) {
			t.Errorf("error %v, want Unknown", err)
		}
	}, func(call int) error {
		if call == 1 {
			return status.Error(codes.Unavailable, "connection reset")
		}
		return NotLeaderError("")
	})
}

func TestLeaderWithoutAddress(t *testing.T) {
	l := NewLeader(NewPool("", nil), nil)
	if err := l.Call(t.Context(), begin); !doriserr.Is(err, doriserr.NotAdmitted) {
		t.Errorf("error %v, want NotAdmitted", err)
	}
}
