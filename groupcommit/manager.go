package groupcommit

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"dorisgo/groupcommit/wal"
)

// Options configure a Manager. The zero value of a field means its default.
type Options struct {
	WAL    *wal.Manager // required
	Sink   Sink         // required
	Logger *slog.Logger
	Events Events

	// What goes into every WAL's header (docs/protocol.md, rule 8).
	ClusterID   string
	MetaEpoch   uint64
	BackendUUID string
	BackendID   int64

	// MemLimit is group_commit_queue_mem_limit, in bytes; 64 MiB.
	MemLimit int64
	// MaxWALsPerTable is group_commit_max_wal_num_per_table; 10, negative is
	// no limit.
	MaxWALsPerTable int
	// ReplayRetryNum, ReplayRetryInterval and ReplayRetryMax are
	// group_commit_replay_wal_retry_num, …_interval_seconds and
	// …_interval_max_seconds: 10, 5 s, 1800 s.
	ReplayRetryNum      int
	ReplayRetryInterval time.Duration
	ReplayRetryMax      time.Duration
	// ReplayThreads is group_commit_relay_wal_threads: 10 tables at once.
	ReplayThreads int
	// BeginTimeout and CommitTimeout (txn_commit_rpc_timeout_ms) bound one
	// call of the Sink: 10 s, 180 s. WriteTimeout bounds one Write: 600 s.
	BeginTimeout, CommitTimeout, WriteTimeout time.Duration
	// ReleaseDelay is how long finished groups are gathered before they are
	// released together, and so the least time that a request id is
	// remembered: 3 s.
	ReleaseDelay time.Duration
	// Rand draws request ids of begins, concurrently; nil means crypto/rand.
	Rand io.Reader
}

func (o *Options) setDefaults() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	setDefault(&o.MemLimit, 64<<20)
	setDefault(&o.MaxWALsPerTable, 10)
	setDefault(&o.ReplayRetryNum, 10)
	setDefault(&o.ReplayRetryInterval, 5*time.Second)
	setDefault(&o.ReplayRetryMax, 1800*time.Second)
	setDefault(&o.ReplayThreads, 10)
	setDefault(&o.BeginTimeout, 10*time.Second)
	setDefault(&o.CommitTimeout, 180*time.Second)
	setDefault(&o.WriteTimeout, 600*time.Second)
	setDefault(&o.ReleaseDelay, 3*time.Second)
}

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// Manager is group commit on one backend. All methods may be called
// concurrently.
type Manager struct {
	opts     Options
	sink     Sink
	wals     *wal.Manager
	log      *slog.Logger
	counters Counters
	mem      budget
	// replayMem bounds the rows that replays hold.
	replayMem budget
	maxWALs   atomic.Int64

	// ctx ends when Stop's time is up: then everything ends.
	ctx    context.Context
	cancel context.CancelFunc
	// stop is closed when Stop begins: no new loads, no new attempts.
	stop     chan struct{}
	stopOnce sync.Once
	wg       sync.WaitGroup
	// starting is held by Recover while it starts goroutines: Stop waits for
	// all of them, or none is started.
	starting sync.Mutex
	// scanned is closed when every table with WALs has its admit channel.
	scanned     chan struct{}
	replaySlots chan struct{}
	releases    releaser

	mu     sync.RWMutex
	tables map[int64]*table
}

// New returns a manager that takes loads once Recover has scanned the WAL
// directories. Stop ends it.
func New(opts Options) (*Manager, error) {
	if opts.WAL == nil || opts.Sink == nil {
		return nil, errors.New("groupcommit: WAL and Sink are required")
	}
	opts.setDefaults()
	m := &Manager{
		opts: opts, sink: opts.Sink, wals: opts.WAL, log: opts.Logger,
		stop: make(chan struct{}), scanned: make(chan struct{}),
		replaySlots: make(chan struct{}, opts.ReplayThreads), tables: map[int64]*table{},
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.SetLimits(opts.MemLimit, opts.MaxWALsPerTable)
	m.mem.full, m.replayMem.full = m.relieve, func() {}
	return m, nil
}

// SetLimits changes group_commit_queue_mem_limit and
// group_commit_max_wal_num_per_table at run time.
func (m *Manager) SetLimits(memLimit int64, maxWALsPerTable int) {
	m.mem.limit.Store(memLimit)
	m.replayMem.limit.Store(memLimit)
	m.maxWALs.Store(int64(maxWALsPerTable))
}

func (m *Manager) stopping() bool {
	select {
	case <-m.stop:
		return true
	default:
		return false
	}
}

// table returns the table's queues, made at its first load or WAL.
func (m *Manager) table(dbID, id int64, name string) *table {
	m.mu.RLock()
	t := m.tables[id]
	m.mu.RUnlock()
	if t != nil {
		return t
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t = m.tables[id]; t == nil {
		t = newTable(m, dbID, id, name)
		m.tables[id] = t
	}
	return t
}

func (m *Manager) eachTable(visit func(t *table)) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, t := range m.tables {
		visit(t)
	}
}

// Seal seals the table's open groups at once: for a truncation or a schema
// change that waits for them.
func (m *Manager) Seal(tableID int64) {
	m.mu.RLock()
	t := m.tables[tableID]
	m.mu.RUnlock()
	if t != nil {
		t.sealAll(SealAsked)
	}
}

// relieve seals the largest open queue because a load waits for memory
// (docs/protocol.md, H42). What is released later calls it again if it was not
// enough.
func (m *Manager) relieve() {
	var largest *group
	var most int64
	m.eachTable(func(t *table) {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, g := range t.open {
			if g.bytes > most {
				most, largest = g.bytes, g
			}
		}
	})
	if largest != nil {
		largest.t.seal(largest, SealMemory)
	}
}

// Stop takes no more loads, seals all groups and commits them. When ctx ends
// first the rest is left: async rows in their WALs, sync waiters with an error.
// Nothing runs when Stop returns. The error says that something was left.
func (m *Manager) Stop(ctx context.Context) error {
	m.starting.Lock()
	m.stopOnce.Do(func() { close(m.stop) })
	m.starting.Unlock()
	m.eachTable(func(t *table) { t.sealAll(SealStop) })
	done := make(chan struct{})
	go func() {
		m.wg.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
		m.cancel()
		<-done
	}
	m.eachTable((*table).abandon)
	m.flushReleases(ctx)
	m.cancel()
	return err
}
