package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/storage/tablet"
)

// Engine is the storage of one BE. All methods may be called at the same time.
//
// Locks are taken in this order: partition, transaction, dropMu, tablet; mu is
// held only for map access and under any of them.
type Engine struct {
	opts  Options
	fs    vfs.FS
	cache *pebble.Cache
	roots []*root

	mu         sync.Mutex
	partitions map[int64]*partition
	tablets    map[int64]*tabletState
	txns       map[int64]*txn
	// removed are the replicas that were removed from this BE, by tablet: their
	// tablets had rows here, whatever is here now.
	// The values are their partitions.
	removed map[int64]map[int64]int64
	leaving []leaving
	// lost are the tablets of roots that went out of service, while they are on no
	// other root.
	lost map[int64]lostTablet

	// dropMu is held shared while rowsets are committed to tablets, and alone
	// while tablets become dropped.
	dropMu sync.RWMutex
	// flush and compact are the tablets that are due for it.
	flush, compact *wanted
	stats          stats

	// open is set once Open is done; healthy counts the roots in service.
	open     atomic.Bool
	healthy  atomic.Int64
	rootWake chan struct{}
	// noted are the roots, by UUID, that others went on without before this start.
	noted map[UUID]lostRecord
}

// tabletState is a tablet on this BE.
type tabletState struct {
	id   int64
	root *root

	mu sync.Mutex // guards what follows
	// tabletRecord changes only while the partition's lock and dropMu are held
	// as well, or dropMu alone; its partition never does.
	tabletRecord
	graph tablet.Graph
	// recorded says that the tablet's record is in Pebble as it is here.
	recorded bool
	// lasting says that some record of the tablet is durable: a crash cannot make
	// it one that was never here.
	lasting atomic.Bool
	// cloning says that a CloneTarget is open.
	cloning bool
	// inline and inlineBytes count the live inline rowsets.
	inline      int
	inlineBytes int64
	// waitsSince is when the oldest file that waits for a time-series merge was
	// seen, zero while none waits.
	waitsSince time.Time
	// flushMu is held by the one flush of the tablet, compactMu by the one
	// compaction; the two never have an input in common.
	flushMu, compactMu sync.Mutex
	// snapshots counts readers, who keep files from being moved.
	snapshots int
}

// RootInfo describes a storage root.
type RootInfo struct {
	UUID UUID
	Path string
	// BootEpoch is the last one that was recorded, 0 if none was.
	BootEpoch uint64
	// New says that no registration was ever recorded, so that the root may be
	// registered; otherwise it must be known already.
	New bool
	// Err is why the root is out of service, nil if it is in service.
	Err error
}

// Open opens the storage roots, formats those that are empty directories, and
// finds what they hold. On an error nothing stays open.
func Open(ctx context.Context, opts Options) (e *Engine, err error) {
	opts, err = opts.withDefaults()
	if err != nil {
		return nil, err
	}
	e = &Engine{
		opts: opts, fs: opts.FS, cache: pebble.NewCache(opts.CacheBytes),
		partitions: map[int64]*partition{}, tablets: map[int64]*tabletState{}, txns: map[int64]*txn{},
		removed: map[int64]map[int64]int64{}, lost: map[int64]lostTablet{}, rootWake: make(chan struct{}, 1),
		flush: newWanted(), compact: newWanted(),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
			e = nil
		}
	}()
	e.healthy.Store(int64(len(opts.Roots)))
	for i, ro := range opts.Roots {
		r, err := e.openRoot(i, ro.Path)
		if err != nil {
			return e, err
		}
		e.roots = append(e.roots, r)
		for _, other := range e.roots[:i] {
			if other.id.uuid == r.id.uuid {
				return e, corrupt("storage roots %s and %s have the same UUID %s: one is a copy", other.path, r.path, r.id.uuid)
			}
		}
	}
	if e.noted, err = e.readLost(ctx); err != nil {
		return e, err
	}
	if err := e.settleClaims(ctx); err != nil {
		return e, err
	}
	for _, r := range e.roots {
		if err := e.recover(ctx, r); err != nil {
			return e, fmt.Errorf("cannot recover storage root %s: %w", r.path, err)
		}
	}
	if err := e.settle(ctx); err != nil {
		return e, err
	}
	e.open.Store(true)
	return e, nil
}

// Close makes publishes durable and closes the roots. Nothing may be running,
// and all Snapshots must be closed.
func (e *Engine) Close() error {
	var errs []error
	for _, r := range e.roots {
		if r.err() == nil {
			errs = append(errs, r.sync())
		}
		errs = append(errs, r.close())
	}
	e.roots = nil
	e.cache.Unref()
	return errors.Join(errs...)
}

// Roots describes the storage roots, in the order of Options.
func (e *Engine) Roots() []RootInfo {
	infos := make([]RootInfo, len(e.roots))
	for i, r := range e.roots {
		r.idMu.Lock()
		infos[i] = RootInfo{UUID: r.id.uuid, Path: r.path, BootEpoch: r.id.bootEpoch, New: r.id.bootEpoch == 0, Err: r.err()}
		r.idMu.Unlock()
	}
	return infos
}

// SetBootEpoch records, durably in every root, the boot epoch that this BE
// registered with (docs/protocol.md, rule 6). It refuses to go back.
func (e *Engine) SetBootEpoch(_ context.Context, epoch uint64) error {
	for _, r := range e.roots {
		if err := r.setBootEpoch(epoch); err != nil {
			return err
		}
	}
	return nil
}

func (r *root) setBootEpoch(epoch uint64) error {
	r.idMu.Lock()
	defer r.idMu.Unlock()
	if epoch < r.id.bootEpoch {
		return doriserr.New(doriserr.StaleEpoch, "storage root %s has boot epoch %d, which %d is behind", r.path, r.id.bootEpoch, epoch)
	}
	if epoch == r.id.bootEpoch {
		return nil
	}
	id := r.id
	id.bootEpoch = epoch
	if err := writeIdentity(r.last, r.path, id); err != nil {
		return r.fail(err.Error())
	}
	r.id = id
	return nil
}

// tablet finds a tablet, nil if this BE does not have it.
func (e *Engine) tablet(id int64) *tabletState {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tablets[id]
}

// recount sets the counters that say when a flush is due; t.mu is held.
func (t *tabletState) recount() {
	t.inline, t.inlineBytes = 0, 0
	for rs := range t.graph.Live() {
		t.count(rs)
	}
}

// tabletsSorted are the tablets in order of their ids.
func (e *Engine) tabletsSorted() []*tabletState {
	e.mu.Lock()
	ts := slices.Collect(maps.Values(e.tablets))
	e.mu.Unlock()
	slices.SortFunc(ts, func(a, b *tabletState) int { return cmp.Compare(a.id, b.id) })
	return ts
}
