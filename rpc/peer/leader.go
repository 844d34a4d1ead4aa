package peer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"dorisgo/doriserr"
	"dorisgo/rpc/fepb"
)

// Leader calls the leading FE of a cluster: it starts at any of the known
// addresses, follows the NotLeader answers, and asks again elsewhere when a
// connection breaks, until the caller's context ends. Every call of the
// Frontend service is idempotent, so asking again is safe (docs/protocol.md,
// rule 5). It is safe for concurrent use.
type Leader struct {
	pool *Pool

	mu    sync.Mutex
	addrs []string
	now   string
}

// NewLeader returns a client that knows these FE addresses (host:port of gRPC).
func NewLeader(pool *Pool, addrs []string) *Leader {
	return &Leader{pool: pool, addrs: slices.Clone(addrs)}
}

// NotLeaderError is the answer of an FE that does not lead: its text is the
// leader's address, empty while there is none.
func NotLeaderError(leader string) error {
	return &doriserr.Error{Kind: doriserr.NotLeader, Msg: leader}
}

// Learn adds FE addresses that the catalog or gossip named.
func (l *Leader) Learn(addrs ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range addrs {
		if a != "" && !slices.Contains(l.addrs, a) {
			l.addrs = append(l.addrs, a)
		}
	}
}

// Addr is the address that the next call goes to.
func (l *Leader) Addr() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == "" && len(l.addrs) > 0 {
		l.now = l.addrs[rand.IntN(len(l.addrs))]
	}
	return l.now
}

// moved notes that addr did not lead, and who may.
func (l *Leader) moved(addr, hint string) {
	l.Learn(hint)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now != addr && l.now != "" {
		return
	}
	l.now = hint
	if hint == "" && len(l.addrs) > 0 {
		i := slices.Index(l.addrs, addr)
		l.now = l.addrs[(i+1)%len(l.addrs)]
	}
}

// Call runs f against the leader and repeats it as the type's comment says. A
// decision of the leader, success or error, ends it. When ctx ends first, the
// error is NotLeader only if no attempt can have taken effect, otherwise Unknown
// or the context's.
func (l *Leader) Call(ctx context.Context, f func(ctx context.Context, c fepb.FrontendClient) error) error {
	wait := 10 * time.Millisecond
	maybe := false    // an attempt may have taken effect
	followed := false // a hint was followed since the last pause
	ended := func(err error) error {
		if maybe && doriserr.Is(err, doriserr.NotLeader) {
			return doriserr.Wrap(doriserr.Unknown, err, "the outcome is not known")
		}
		return err
	}
	for {
		addr := l.Addr()
		if addr == "" {
			return doriserr.New(doriserr.NotAdmitted, "no frontend address is known: set fe_hosts in be.conf")
		}
		conn, err := l.pool.Conn(addr)
		if err != nil {
			return err
		}
		err = doriserr.FromStatus(f(ctx, fepb.NewFrontendClient(conn)))
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ended(err)
		case doriserr.Is(err, doriserr.NotLeader):
			hint := err.Error()
			l.moved(addr, hint)
			if hint != "" && hint != addr && !followed {
				followed = true // two frontends may name each other for a while
				continue
			}
		case doriserr.Is(err, doriserr.Unknown):
			l.moved(addr, "")
			maybe = true
		default:
			return err
		}
		followed = false
		select {
		case <-ctx.Done():
			return ended(fmt.Errorf("no leading frontend answered, last tried %s: %w", addr, err))
		case <-time.After(wait):
		}
		wait = min(2*wait, 500*time.Millisecond)
	}
}
