package raftfsm

import (
	"errors"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"
)

// Config is what a Node is opened with.
type Config struct {
	// Dir holds identity, log and snapshots. Unused if InMemory.
	Dir string
	// Stream carries raft between nodes; its address is what others dial, a
	// DNS name rather than an IP (NewStream). The Node closes it.
	Stream raft.StreamLayer
	// Transport replaces Stream in tests.
	Transport raft.Transport
	// Bootstrap makes a new cluster of this node alone if Dir is empty. It is
	// for the first FE of a cluster, once: an FE that lost its directory joins
	// as a new server instead (docs/protocol.md, scenario H14).
	Bootstrap bool
	// ClusterID, if it is set, must be the directory's; a new cluster gets it.
	ClusterID string
	// Logger is required.
	Logger *slog.Logger
	// InMemory keeps everything in memory, for tests.
	InMemory bool
	// ServerID is used if InMemory; otherwise it is in Dir.
	ServerID string
	// Fatal ends the process. It is called at most once, from any goroutine,
	// after the raft transport was closed, and may return in tests.
	Fatal func(error)

	// HeartbeatTimeout, ElectionTimeout and LeaderLease are raft's timers. A
	// node that is alone in its group does not wait for them.
	HeartbeatTimeout, ElectionTimeout, LeaderLease time.Duration
	// StoreBound is how long a call of the log store may take.
	StoreBound time.Duration
	// EnqueueBound is how long a proposal waits to be taken by raft, and
	// ProposeBound how long for its decision if the context has no deadline.
	EnqueueBound, ProposeBound time.Duration
	// SnapshotEntries and SnapshotBytes of log since the last snapshot make a
	// new one; TrailingEntries stay in the log after it.
	SnapshotEntries, TrailingEntries uint64
	SnapshotBytes                    int64
	// SnapshotInterval is how often SnapshotEntries is looked at.
	SnapshotInterval time.Duration
}

// DefaultConfig has every bound and timer, and nothing else.
func DefaultConfig() Config {
	return Config{
		HeartbeatTimeout: time.Second, ElectionTimeout: time.Second, LeaderLease: 500 * time.Millisecond,
		StoreBound: 10 * time.Second, EnqueueBound: 5 * time.Second, ProposeBound: 30 * time.Second,
		SnapshotEntries: 8192, TrailingEntries: 2048, SnapshotBytes: 64 << 20, SnapshotInterval: time.Minute,
	}
}

// withDefaults fills zero bounds and timers.
func (c Config) withDefaults() Config {
	d := DefaultConfig()
	fill(&c.HeartbeatTimeout, d.HeartbeatTimeout)
	fill(&c.ElectionTimeout, max(d.ElectionTimeout, c.HeartbeatTimeout))
	fill(&c.LeaderLease, min(d.LeaderLease, c.HeartbeatTimeout))
	fill(&c.StoreBound, d.StoreBound)
	fill(&c.EnqueueBound, d.EnqueueBound)
	fill(&c.ProposeBound, d.ProposeBound)
	fill(&c.SnapshotEntries, d.SnapshotEntries)
	fill(&c.TrailingEntries, d.TrailingEntries)
	fill(&c.SnapshotBytes, d.SnapshotBytes)
	fill(&c.SnapshotInterval, d.SnapshotInterval)
	return c
}

func fill[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

func (c *Config) validate() error {
	var errs []error
	if c.Logger == nil {
		errs = append(errs, errors.New("raftfsm: a logger is required"))
	}
	if c.Fatal == nil {
		errs = append(errs, errors.New("raftfsm: Fatal is required"))
	}
	if (c.Stream == nil) == (c.Transport == nil) {
		errs = append(errs, errors.New("raftfsm: exactly one of Stream and Transport is required"))
	}
	if !c.InMemory && c.Dir == "" {
		errs = append(errs, errors.New("raftfsm: a directory is required"))
	}
	if c.InMemory && c.ServerID == "" {
		errs = append(errs, errors.New("raftfsm: a node in memory needs a server id"))
	}
	return errors.Join(errs...)
}

// raftConfig is raft's own configuration.
func (c *Config) raftConfig(id string, logger *slog.Logger) *raft.Config {
	rc := raft.DefaultConfig()
	rc.LocalID = raft.ServerID(id)
	// One more than the wanted time: electIfAlone lowers it, which makes raft
	// hold an election at once.
	rc.HeartbeatTimeout = c.HeartbeatTimeout + time.Millisecond
	rc.ElectionTimeout = c.ElectionTimeout + time.Millisecond
	rc.LeaderLeaseTimeout = c.LeaderLease
	rc.SnapshotThreshold = c.SnapshotEntries
	rc.SnapshotInterval = c.SnapshotInterval
	rc.TrailingLogs = c.TrailingEntries
	rc.MaxAppendEntries = 256
	rc.NoLegacyTelemetry = true
	rc.LogLevel = "INFO"
	rc.LogOutput = &logWriter{logger}
	return rc
}
