package behttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dorisgo/doriserr"
)

func TestBudgetKeepsAPartForSmallLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(4<<20, time.Second)
		large := b.share()
		if !large.tryGrow(1000) || b.small.held.Load() != 1000 {
			t.Error("a load that holds little is not among the small ones")
		}
		// It takes what it can: all of the bulk, and leaves the small part.
		if !large.tryGrow(100<<20) || b.small.held.Load() != 0 || b.bulk.held.Load() != 3<<20 || large.size() != 3<<20 {
			t.Errorf("held %d of the small, %d of the bulk", b.small.held.Load(), b.bulk.held.Load())
		}
		other := b.share()
		if other.tryGrow(smallShare + 1) {
			t.Error("two large loads got the same memory")
		}
		start := time.Now()
		if err := other.grow(t.Context(), smallShare+1); !doriserr.Is(err, doriserr.ExceededLimit) || time.Since(start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := other.grow(ctx, smallShare+1); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		small := b.share()
		if err := small.grow(t.Context(), smallShare); err != nil {
			t.Errorf("a small load beside a large one: %v", err)
		}
		// It stays among the large ones when it shrinks, and waits for its turn.
		waited := make(chan error)
		go func() { waited <- other.grow(t.Context(), 2<<20) }()
		synctest.Wait()
		large.shrink(10)
		if err := <-waited; err != nil || b.bulk.held.Load() != 2<<20+10 {
			t.Errorf("%v, %d held", err, b.bulk.held.Load())
		}
		for _, s := range []*share{large, other, small} {
			s.release()
			s.release()
		}
		if b.held() != 0 || !b.bulk.sem.TryAcquire(3<<20) || !b.small.sem.TryAcquire(1<<20) {
			t.Errorf("%d bytes are still held", b.held())
		}
	})
}

func TestBudgetRoomIsShared(t *testing.T) {
	b := newBudget(64<<20, time.Second)
	var taken []int64
	for range 5 {
		s := b.share()
		n := b.room(4, s)
		if !s.tryGrow(n) || b.room(4, s) != n {
			t.Errorf("a load that holds its part, %d, has room for %d", n, b.room(4, s))
		}
		taken = append(taken, n>>10)
	}
	if got := fmt.Sprint(taken); got != "[12288 9216 6912 5184 3888]" {
		t.Errorf("parts in KB: %s", got)
	}
}

// slowBody sends head and then waits until more is closed for the rest.
type slowBody struct {
	head, rest io.Reader
	sent       chan<- struct{}
	more       <-chan struct{}
}

func (b *slowBody) Read(p []byte) (int, error) {
	if n, err := b.head.Read(p); err == nil {
		return n, nil
	}
	if b.sent != nil {
		b.sent <- struct{}{}
		b.sent = nil
	}
	<-b.more
	return b.rest.Read(p)
}

// TestSlowSendersLeaveRoom: more large bodies that pause than there is memory
// for do not stop small loads, and come through themselves.
func TestSlowSendersLeaveRoom(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MemoryBytes, o.MemoryWait = 4<<20, time.Minute })
	sent, more, done := make(chan struct{}), make(chan struct{}), make(chan reply)
	const senders, each = 30, 40000
	body := rows(each, 0)
	for i := range senders {
		headers := []string{"column_separator", ",", "group_commit", []string{"async_mode", "sync_mode", "off_mode"}[i%3]}
		go func() {
			done <- r.do(r.request("PUT", t3Path, &slowBody{strings.NewReader(body[:len(body)/2]), strings.NewReader(body[len(body)/2:]), sent, more}, headers...))
		}()
	}
	for range senders {
		<-sent
	}
	for i := range 200 {
		if rep := r.put("1,a,2\n", "group_commit", "async_mode"); rep.load.Status != statusSuccess {
			t.Fatalf("small load %d: %s", i, rep.text)
		}
	}
	close(more)
	for range senders {
		if rep := <-done; rep.load.Status != statusSuccess || rep.load.NumberLoadedRows != each {
			t.Errorf("%s", rep.text)
		}
	}
	if n := r.s.budget.held(); n != 0 {
		t.Errorf("%d bytes are still held", n)
	}
	if n := len(r.f.taken()); n != 200+senders*each {
		t.Errorf("%d rows", n)
	}
}
