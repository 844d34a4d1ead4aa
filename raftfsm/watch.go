package raftfsm

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// store is what raft keeps its log and its votes in.
type store interface {
	raft.LogStore
	raft.StableStore
}

// watchedStore watches each call of the store. Raft calls it on its main loop
// while heartbeats go on beside, so a leader with a hung disk would keep the
// lead (docs/protocol.md, scenario H43): a call that fails or takes longer
// than the bound ends the process. A failed fsync is never retried.
type watchedStore struct {
	store store
	bound time.Duration
	fail  func(error)

	mu     sync.Mutex
	nextID uint64
	calls  map[uint64]call
}

type call struct {
	name  string
	start time.Time
}

func watch(s store, bound time.Duration, fail func(error)) *watchedStore {
	return &watchedStore{store: s, bound: bound, fail: fail, calls: map[uint64]call{}}
}

// run looks at running calls until stop is closed.
func (w *watchedStore) run(stop <-chan struct{}) {
	t := time.NewTicker(w.bound / 4)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case now := <-t.C:
			if c, over := w.overdue(now); over {
				w.fail(fmt.Errorf("raft store: %s has not returned for %s: the disk hangs", c.name, now.Sub(c.start).Round(time.Millisecond)))
				return
			}
		}
	}
}

func (w *watchedStore) overdue(now time.Time) (call, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		if now.Sub(c.start) > w.bound {
			return c, true
		}
	}
	return call{}, false
}

// do runs one call under watch.
func (w *watchedStore) do(name string, f func() error) error {
	w.mu.Lock()
	w.nextID++
	id := w.nextID
	w.calls[id] = call{name, time.Now()}
	w.mu.Unlock()
	err := f()
	w.mu.Lock()
	delete(w.calls, id)
	w.mu.Unlock()
	if err != nil && !absent(err) {
		w.fail(fmt.Errorf("raft store: %s: %w", name, err))
	}
	return err
}

// absent reports the answers that say no such entry, which are no faults.
func absent(err error) bool {
	return errors.Is(err, raft.ErrLogNotFound) || errors.Is(err, raftboltdb.ErrKeyNotFound) || err.Error() == "not found"
}

// FirstIndex implements raft.LogStore.
func (w *watchedStore) FirstIndex() (i uint64, err error) {
	err = w.do("FirstIndex", func() error { i, err = w.store.FirstIndex(); return err })
	return i, err
}

// LastIndex implements raft.LogStore.
func (w *watchedStore) LastIndex() (i uint64, err error) {
	err = w.do("LastIndex", func() error { i, err = w.store.LastIndex(); return err })
	return i, err
}

// GetLog implements raft.LogStore.
func (w *watchedStore) GetLog(index uint64, l *raft.Log) error {
	return w.do("GetLog", func() error { return w.store.GetLog(index, l) })
}

// StoreLog implements raft.LogStore.
func (w *watchedStore) StoreLog(l *raft.Log) error {
	return w.do("StoreLog", func() error { return w.store.StoreLog(l) })
}

// StoreLogs implements raft.LogStore.
func (w *watchedStore) StoreLogs(ls []*raft.Log) error {
	return w.do("StoreLogs", func() error { return w.store.StoreLogs(ls) })
}

// DeleteRange implements raft.LogStore.
func (w *watchedStore) DeleteRange(lo, hi uint64) error {
	return w.do("DeleteRange", func() error { return w.store.DeleteRange(lo, hi) })
}

// Set implements raft.StableStore.
func (w *watchedStore) Set(key, val []byte) error {
	return w.do("Set", func() error { return w.store.Set(key, val) })
}

// Get implements raft.StableStore.
func (w *watchedStore) Get(key []byte) (val []byte, err error) {
	err = w.do("Get", func() error { val, err = w.store.Get(key); return err })
	return val, err
}

// SetUint64 implements raft.StableStore.
func (w *watchedStore) SetUint64(key []byte, val uint64) error {
	return w.do("SetUint64", func() error { return w.store.SetUint64(key, val) })
}

// GetUint64 implements raft.StableStore.
func (w *watchedStore) GetUint64(key []byte) (val uint64, err error) {
	err = w.do("GetUint64", func() error { val, err = w.store.GetUint64(key); return err })
	return val, err
}
