package raftfsm

import (
	"container/heap"
	"context"
	"sync"

	"dorisgo/doriserr"
)

// waits are those who wait for an applied index, or for any change. Waking
// closes channels and so never blocks the FSM.
type waits struct {
	mu      sync.Mutex
	applied uint64
	byIndex waitHeap
	changed chan struct{}
}

type waiter struct {
	index uint64
	ch    chan struct{}
}

// waitHeap is a min-heap by index.
type waitHeap []waiter

func (h waitHeap) Len() int           { return len(h) }
func (h waitHeap) Less(i, j int) bool { return h[i].index < h[j].index }
func (h waitHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *waitHeap) Push(x any) { *h = append(*h, x.(waiter)) }

// Pop implements heap.Interface.
func (h *waitHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// wake tells that an index was applied.
func (w *waits) wake(index uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.applied = max(w.applied, index)
	for len(w.byIndex) > 0 && w.byIndex[0].index <= w.applied {
		close(heap.Pop(&w.byIndex).(waiter).ch)
	}
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// at is a channel that is closed once an index is applied; nil if it is.
func (w *waits) at(index uint64) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if index <= w.applied {
		return nil
	}
	ch := make(chan struct{})
	heap.Push(&w.byIndex, waiter{index, ch})
	return ch
}

// drop forgets a waiter that gave up.
func (w *waits) drop(ch chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.byIndex {
		if w.byIndex[i].ch == ch {
			heap.Remove(&w.byIndex, i)
			return
		}
	}
}

func (w *waits) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.changed
}

// AppliedIndex is the index of the last command applied to this node's State.
func (n *Node) AppliedIndex() uint64 { return n.fsm.applied.Load() }

// Changed is a channel that is closed when the next command is applied. Take it
// before looking at the State, so that nothing is missed.
func (n *Node) Changed() <-chan struct{} { return n.fsm.waits.next() }

// WaitApplied waits until a command's index (Result.Index) is applied here. The
// index must be a command's: raft's own entries never reach the State. On a
// context's end the error is of kind Timeout or Canceled.
func (n *Node) WaitApplied(ctx context.Context, index uint64) error {
	ch := n.fsm.waits.at(index)
	if ch == nil {
		return nil
	}
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		n.fsm.waits.drop(ch)
		return doriserr.Wrap(doriserr.KindOf(ctx.Err()), ctx.Err(), "this frontend has applied metadata up to %d, not %d", n.AppliedIndex(), index)
	case <-n.done:
		n.fsm.waits.drop(ch)
		return stopping()
	}
}

func stopping() error {
	return doriserr.New(doriserr.Stopping, "this frontend is stopping")
}
