package be

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// groupGrace is how long open groups may take to commit. Without a frontend
	// they cannot: the next start commits them from their WAL.
	groupGrace = 10 * time.Second
	// loadGrace is how long FEs' loads that are no group commit may take then.
	loadGrace = 10 * time.Second
	// requestGrace is how long requests under way may take to end once the open
	// groups are committed. An upload whose body is not complete then is cut:
	// its client was told nothing and sends it again.
	requestGrace = 2 * time.Second
	// idleWait bounds the wait for handlers whose connections are closed.
	idleWait = 5 * time.Second
)

// Stop ends this life in order: FEs' loads are admitted no more, open groups
// are committed or left in their WAL and their waiters answered, loads and
// queries under way end, and everything closes. ctx bounds all but the last.
func (n *Node) Stop(ctx context.Context) error {
	select {
	case <-n.stopping:
	default:
		close(n.stopping)
	}
	if n.Groups != nil {
		n.leave(ctx)
	}
	n.stopLoads(ctx)
	n.stopHTTP(ctx)
	if n.rpc != nil {
		n.stopRPC(ctx)
	}
	return n.close()
}

// stopLoads ends what loads are under way. What it has to leave is no failure:
// acknowledged rows are in a WAL, and everybody else is told.
func (n *Node) stopLoads(ctx context.Context) {
	if n.Groups != nil {
		ctx, cancel := context.WithTimeout(ctx, groupGrace)
		defer cancel()
		if err := n.Groups.Stop(ctx); err != nil {
			n.log.Warn("open groups are left in their WAL, the next start commits them", "err", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, loadGrace)
	defer cancel()
	if left := n.inflight.wait(ctx); left > 0 {
		n.log.Warn("loads that did not end are given up", "loads", left)
	}
}

func (n *Node) stopHTTP(ctx context.Context) {
	if n.http == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestGrace)
	defer cancel()
	if err := n.http.Shutdown(ctx); err != nil {
		n.log.Warn("requests that did not end are cut", "requests", n.requests.count(), "err", err)
		n.http.Close()
	}
}

// stopRPC lets the answers and queries under way leave.
func (n *Node) stopRPC(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		n.rpc.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		n.rpc.Stop()
		<-done
	}
}

// idle waits until no handler uses what close is about to close.
func (n *Node) idle() error {
	ctx, cancel := context.WithTimeout(context.Background(), idleWait)
	defer cancel()
	if left := n.inflight.wait(ctx) + n.requests.wait(ctx); left > 0 {
		return fmt.Errorf("%d requests did not end", left)
	}
	return nil
}

// busy counts what is under way. It is safe for concurrent use; its zero value
// is ready.
type busy struct {
	mu   sync.Mutex
	n    int
	idle chan struct{}
}

func (b *busy) enter() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
}

func (b *busy) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n--; b.n == 0 && b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
}

func (b *busy) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

// wait returns when nothing is under way or ctx ends, and what is left.
func (b *busy) wait(ctx context.Context) int {
	for {
		b.mu.Lock()
		left := b.n
		if left > 0 && b.idle == nil {
			b.idle = make(chan struct{})
		}
		idle := b.idle
		b.mu.Unlock()
		if left == 0 {
			return 0
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return b.count()
		}
	}
}

// handler counts the requests of an HTTP handler.
func (b *busy) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.enter()
		defer b.leave()
		h.ServeHTTP(w, r)
	})
}
