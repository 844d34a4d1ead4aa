package gossip

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

type recorder struct {
	joined chan Info
	gone   chan Info
}

func (r recorder) Joined(i Info) { r.joined <- i }
func (r recorder) Gone(i Info)   { r.gone <- i }

func newRecorder() recorder {
	return recorder{joined: make(chan Info, 16), gone: make(chan Info, 16)}
}

func start(t *testing.T, role Role, uuid, token string, ev Events, seeds ...string) *Gossip {
	t.Helper()
	g, err := Start(Config{
		Info:     Info{Role: role, UUID: uuid, RPC: uuid + ".cluster.local:9060"},
		BindHost: "127.0.0.1", Advertise: "127.0.0.1",
		Seeds: seeds, Token: token, Events: ev, Logger: slog.New(slog.DiscardHandler), Rejoin: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func wait(t *testing.T, ch <-chan Info, uuid string) Info {
	t.Helper()
	for {
		select {
		case i := <-ch:
			if i.UUID == uuid {
				return i
			}
		case <-t.Context().Done():
			t.Fatalf("the test ended before %s was heard of", uuid)
		}
	}
}

func TestNodesFindEachOther(t *testing.T) {
	r := newRecorder()
	a := start(t, FE, "fe-1", "secret", r)
	defer a.Stop()
	seed := fmt.Sprintf("127.0.0.1:%d", a.Port())
	b := start(t, BE, "be-1", "secret", nil, seed)
	got := wait(t, r.joined, "be-1")
	if got.Role != BE || got.RPC != "be-1.cluster.local:9060" {
		t.Errorf("heard of %+v", got)
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	wait(t, r.gone, "be-1")
	// The same node under another address is welcome at once.
	b = start(t, BE, "be-1", "secret", nil, seed)
	defer b.Stop()
	wait(t, r.joined, "be-1")
}

func TestAnotherTokenIsNotHeard(t *testing.T) {
	r := newRecorder()
	a := start(t, FE, "fe-1", "secret", r)
	defer a.Stop()
	seed := fmt.Sprintf("127.0.0.1:%d", a.Port())
	stranger := start(t, BE, "stranger", "guess", nil, seed)
	defer stranger.Stop()
	friend := start(t, BE, "be-1", "secret", nil, seed)
	defer friend.Stop()
	// The stranger began first: it would have been heard before the friend.
	if got := <-r.joined; got.UUID != "be-1" {
		t.Errorf("heard of %+v", got)
	}
	for _, m := range a.Members() {
		if m.UUID == "stranger" {
			t.Error("a node with another token is a member")
		}
	}
}

func TestMetadataThatDoNotFitAreRefused(t *testing.T) {
	_, err := Start(Config{Info: Info{UUID: "x", RPC: strings.Repeat("a", 600)}, BindHost: "127.0.0.1", Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "shorten the address") {
		t.Errorf("got %v", err)
	}
}
