package groupcommit

import (
	"sync/atomic"
	"time"

	"dorisgo/groupcommit/wal"
)

// SealReason says why a group was sealed.
type SealReason string

// The reasons.
const (
	SealBytes    SealReason = "bytes"
	SealInterval SealReason = "interval"
	SealMemory   SealReason = "memory"
	SealSchema   SealReason = "schema"
	SealMode     SealReason = "mode"
	SealWAL      SealReason = "wal"
	SealIdle     SealReason = "idle"
	SealStop     SealReason = "stop"
	SealAsked    SealReason = "asked"
)

// Counters are totals since the start of the process.
type Counters struct {
	// Loads and Rows joined a group; Repeats were answered from an earlier
	// load; Refused joined none.
	Loads, Rows, Repeats, Refused atomic.Int64
	// Groups were committed; Discarded were opened and never used; Failed are
	// sync groups whose waiters got an error.
	Groups, Discarded, Failed atomic.Int64
	// Switched are async loads that ran as sync.
	Switched atomic.Int64
	// Parked are async groups handed to replay; Replayed are those committed
	// by it, those of earlier lives included; ReplayFailures are attempts.
	Parked, Replayed, ReplayFailures atomic.Int64
	// Quarantined are WALs set aside, but for those that a crash left without a
	// header; Torn those with a torn tail.
	Quarantined, Torn atomic.Int64
}

// GroupInfo describes a group in events.
type GroupInfo struct {
	DBID, TableID int64
	Table         string
	TxnID         int64
	Label         string
	Async         bool
	Rows          int64
	Loads         int
}

// Events are told as things happen; any may be nil. They are called without
// locks from the goroutine concerned and must return soon.
type Events struct {
	// Committed: a group is COMMITTED or VISIBLE, took after its seal. sealed
	// is empty for a replay.
	Committed func(g GroupInfo, sealed SealReason, took time.Duration)
	// Failed: a sync group's waiters got err.
	Failed func(g GroupInfo, err error)
	// Parked: an async group could not be committed now; it is tried again.
	Parked func(g GroupInfo, err error)
	// ReplayFailed: one more attempt failed; the next is at next.
	ReplayFailed func(g GroupInfo, err error, next time.Time)
	// Quarantined: a WAL was set aside at path. A person should know. Not told
	// of a file without a header, which no load was ever acknowledged from.
	Quarantined func(path string, reason wal.Reason, detail error)
	// Torn: a WAL ends in an unfinished frame; what precedes it is replayed.
	Torn func(path string, detail error)
	// Foreign: a path in a WAL directory is not one of ours.
	Foreign func(path string)
	// WALFailed: a group's WAL file died; the group is committed from memory.
	WALFailed func(g GroupInfo, err error)
}

// TableStats is a table's state on this backend.
type TableStats struct {
	DBID, TableID int64
	Name          string
	// Waiting are the WALs that wait for replay, and their bytes; only they
	// count for group_commit_max_wal_num_per_table.
	Waiting      int
	WaitingBytes int64
	// Oldest is when the oldest of them was created, zero without one.
	Oldest time.Time
	// ReplayFailures and LastError are about attempts to replay.
	ReplayFailures int64
	LastError      string
	LastErrorAt    time.Time
	// Groups are those that are not yet released.
	Groups int
}

// Counters are the manager's totals; the pointer may be kept.
func (m *Manager) Counters() *Counters { return &m.counters }

// Memory is what the queues hold of the memory budget, in bytes, and how many
// loads had to wait for it so far.
func (m *Manager) Memory() (used, waits int64) { return m.mem.used.Load(), m.mem.waits.Load() }

// Stats is the state of every table that was seen, by table id.
func (m *Manager) Stats() map[int64]TableStats {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make(map[int64]TableStats, len(m.tables))
	for id, t := range m.tables {
		t.mu.Lock()
		s := t.stats
		s.TableID, s.DBID, s.Name, s.Groups = id, t.dbID, t.name, len(t.live)
		for _, g := range t.parked {
			if g.recycled {
				continue
			}
			s.Waiting++
			s.WaitingBytes += g.walBytes
			if at := time.UnixMilli(g.header.CreatedMs); s.Oldest.IsZero() || at.Before(s.Oldest) {
				s.Oldest = at
			}
		}
		t.mu.Unlock()
		out[id] = s
	}
	return out
}
