package raftfsm

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// faultyStore fails or blocks where it is told to.
type faultyStore struct {
	store
	err   error
	block chan struct{}
}

func (f *faultyStore) StoreLogs(ls []*raft.Log) error {
	if f.block != nil {
		<-f.block
	}
	if f.err != nil {
		return f.err
	}
	return f.store.StoreLogs(ls)
}

func TestAStoreErrorEndsTheProcess(t *testing.T) {
	boom := errors.New("no space left on device")
	var got error
	w := watch(&faultyStore{store: raft.NewInmemStore(), err: boom}, time.Second, func(err error) { got = err })
	if err := w.StoreLogs([]*raft.Log{{Index: 1}}); !errors.Is(err, boom) {
		t.Errorf("raft sees %v", err)
	}
	if !errors.Is(got, boom) || !strings.Contains(got.Error(), "StoreLogs") {
		t.Errorf("fatal with %v", got)
	}
}

func TestAbsentEntriesAreNoFaults(t *testing.T) {
	w := watch(raft.NewInmemStore(), time.Second, func(err error) { t.Errorf("fatal: %v", err) })
	if err := w.GetLog(7, &raft.Log{}); !errors.Is(err, raft.ErrLogNotFound) {
		t.Errorf("GetLog: %v", err)
	}
	if v, _ := w.GetUint64([]byte("x")); v != 0 {
		t.Errorf("GetUint64 of an absent key: %d", v)
	}
	if v, _ := w.Get([]byte("x")); len(v) > 0 {
		t.Errorf("Get of an absent key: %q", v)
	}
}

func TestAHungStoreEndsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block, stop := make(chan struct{}), make(chan struct{})
		fatal := make(chan error, 1)
		w := watch(&faultyStore{store: raft.NewInmemStore(), block: block}, 10*time.Second, func(err error) { fatal <- err })
		go w.run(stop)
		go func() { _ = w.StoreLogs([]*raft.Log{{Index: 1}}) }()
		start := time.Now()
		err := <-fatal
		if took := time.Since(start); took < 10*time.Second || took > 13*time.Second {
			t.Errorf("the watchdog took %s for a bound of 10s", took)
		}
		if !strings.Contains(err.Error(), "StoreLogs has not returned") {
			t.Errorf("fatal with %v", err)
		}
		close(block)
		close(stop)
	})
}

func TestAFatalErrorSilencesTheNode(t *testing.T) {
	n := mustOpen(t, t.TempDir(), func(c *Config) { c.Fatal = func(error) {} })
	leads(t, n)
	n.fatal(errors.New("disk"))
	conn, err := n.cfg.Stream.Dial(n.transport.LocalAddr(), time.Second)
	if err == nil {
		conn.Close()
		t.Error("the transport still listens after a fatal error")
	}
	mustClose(t, n)
}
