package peer

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
)

// slow is a BE whose scans end, with an error, when their caller gives up or
// after an hour.
type slow struct {
	bepb.UnimplementedBackendServer
}

// Scan implements bepb.BackendServer.
func (slow) Scan(r *bepb.ScanRequest, s bepb.Backend_ScanServer) error {
	if r.TableId == 0 {
		return doriserr.ToStatus(doriserr.New(doriserr.Corrupt, "no table"))
	}
	select {
	case <-s.Context().Done():
	case <-time.After(time.Hour):
	}
	return doriserr.ToStatus(doriserr.New(doriserr.VersionGone, "an hour has passed"))
}

func TestTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := &Pipes{}
		served := make(chan error)
		var servers []interface{ Stop() }
		serve := func(addr string, srv interface {
			grpc.ServiceRegistrar
			Serve(l net.Listener) error
			Stop()
		}) {
			bepb.RegisterBackendServer(srv, slow{})
			servers = append(servers, srv)
			l := pipes.Listen(addr)
			go func() { served <- srv.Serve(l) }()
		}
		serve("slow:1", NewServer(""))
		serve("hung:1", grpc.NewServer())       // it says nothing before its end
		silent := pipes.Listen("unreachable:1") // it is dialled and nobody answers
		pool := NewPool("", pipes)
		scan := func(ctx context.Context, addr string, table int64) (bepb.Backend_ScanClient, error) {
			conn, err := pool.Conn(addr)
			if err != nil {
				return nil, err
			}
			return Taken(ctx, 3*time.Second, func(ctx context.Context) (bepb.Backend_ScanClient, error) {
				return bepb.NewBackendClient(conn).Scan(ctx, &bepb.ScanRequest{TableId: table})
			})
		}
		start := time.Now()
		s, err := scan(t.Context(), "slow:1", 1)
		if err != nil || time.Since(start) > time.Second {
			t.Errorf("a call that takes long was taken after %s: %v", time.Since(start), err)
		}
		if _, err := s.Recv(); !doriserr.Is(doriserr.FromStatus(err), doriserr.VersionGone) || time.Since(start) != time.Hour {
			t.Errorf("its end is %v after %s", err, time.Since(start))
		}
		if s, err = scan(t.Context(), "slow:1", 0); err == nil {
			_, err = s.Recv()
		}
		if !doriserr.Is(doriserr.FromStatus(err), doriserr.Corrupt) {
			t.Errorf("a call that fails at once: %v", err)
		}
		start = time.Now()
		if _, err = scan(t.Context(), "hung:1", 1); !doriserr.Is(err, doriserr.Unknown) || time.Since(start) != 3*time.Second {
			t.Errorf("a peer that hangs: %v after %s", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err = scan(ctx, "hung:1", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's own time: %v", err)
		}
		start = time.Now()
		if _, err = scan(t.Context(), "unreachable:1", 1); !doriserr.Is(err, doriserr.Unknown) || time.Since(start) > 3*time.Second {
			t.Errorf("a peer that cannot be reached: %v after %s", err, time.Since(start))
		}
		pool.Close()
		if err := silent.Close(); err != nil {
			t.Error(err)
		}
		for _, srv := range servers {
			srv.Stop()
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
	})
}
