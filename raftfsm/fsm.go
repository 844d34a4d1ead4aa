package raftfsm

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"dorisgo/meta"
)

// fsm is what raft calls. Its lock guards the State; Apply holds it for a
// batch, readers share it.
type fsm struct {
	mu    sync.RWMutex
	state *meta.State
	// applied is the index of the last command applied: raft's own applied
	// index says only that an entry was handed over.
	applied atomic.Uint64
	waits   waits
	// halted is set when an entry could not be decoded: nothing is applied any
	// more, since to skip it would let the FEs diverge.
	halted atomic.Bool
	fatal  func(error)
	// grown counts the bytes of log since the last snapshot; when they reach
	// the limit, full is signalled.
	grown, limit int64
	full         chan struct{}
}

// answer is what a proposal finds in its future.
type answer struct {
	result meta.Result
	err    error
}

func newFSM(limit int64, fatal func(error)) *fsm {
	return &fsm{state: meta.New(), fatal: fatal, limit: limit, full: make(chan struct{}, 1)}
}

// Apply implements raft.FSM.
func (f *fsm) Apply(l *raft.Log) any { return f.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch implements raft.BatchingFSM.
func (f *fsm) ApplyBatch(logs []*raft.Log) []any {
	out := make([]any, len(logs))
	var last uint64
	f.mu.Lock()
	for i, l := range logs {
		if l.Type != raft.LogCommand || f.halted.Load() {
			continue
		}
		f.grown += int64(len(l.Data))
		c, err := meta.DecodeCommand(l.Data)
		if err != nil {
			f.halted.Store(true)
			f.fatal(fmt.Errorf("log entry %d: %w", l.Index, err))
			continue
		}
		res, err := f.state.Apply(l.Index, c)
		out[i] = &answer{res, err}
		last = l.Index
	}
	if f.grown >= f.limit {
		select {
		case f.full <- struct{}{}:
		default:
		}
	}
	f.mu.Unlock()
	if last > 0 {
		f.publish(last)
	}
	return out
}

// publish makes an index known and wakes who waits for it.
func (f *fsm) publish(index uint64) {
	f.applied.Store(index)
	f.waits.wake(index)
}

// Snapshot implements raft.FSM: it fixes the view, Persist writes just that.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.grown = 0
	return &snapshot{f.state.Snapshot()}, nil
}

// Restore implements raft.FSM.
func (f *fsm) Restore(in io.ReadCloser) error {
	defer in.Close()
	s, err := meta.Restore(in)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.state, f.grown = s, 0
	f.mu.Unlock()
	f.publish(s.Index())
	return nil
}

func (f *fsm) view(read func(*meta.State)) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	read(f.state)
}

type snapshot struct{ s *meta.Snapshot }

// Persist implements raft.FSMSnapshot.
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	if err := s.s.Write(sink); err != nil {
		_ = sink.Cancel() // the first error tells more
		return err
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (s *snapshot) Release() {}
