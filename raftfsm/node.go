package raftfsm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"dorisgo/meta"
)

// Node is one member of the group that keeps the metadata. It is safe for
// concurrent use.
type Node struct {
	cfg  Config
	id   string
	fsm  *fsm
	raft *raft.Raft
	// transport and disk are closed after raft; disk is nil in memory.
	transport raft.Transport
	disk      io.Closer
	terms     chan LeaderTerm
	// ready is the raft term in which this node leads and has passed its
	// barrier, 0 if it does not.
	ready atomic.Uint64

	done      chan struct{}
	closeOnce sync.Once
	fatalOnce sync.Once
	running   sync.WaitGroup
	// identity is the directory's as it was at the start, nil in memory.
	identity *identity
}

// Open starts a node. It refuses a directory of another cluster or a newer
// format by name. A node that is alone in its group leads at once.
func Open(cfg Config) (*Node, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	n := &Node{cfg: cfg, id: cfg.ServerID, terms: make(chan LeaderTerm), done: make(chan struct{})}
	n.fsm = newFSM(cfg.SnapshotBytes, n.fatal)
	if err := n.start(); err != nil {
		n.stopBackground()
		n.running.Wait()
		return nil, errors.Join(err, n.closeStores())
	}
	return n, nil
}

func (n *Node) start() error {
	n.openTransport()
	stores, snaps, err := n.openStores()
	if err != nil {
		return err
	}
	watched := watch(stores, n.cfg.StoreBound, n.fatal)
	n.spawn(func() { watched.run(n.done) })
	cache, err := raft.NewLogCache(512, watched)
	if err != nil {
		return fmt.Errorf("cannot make the log cache: %w", err)
	}
	rc := n.cfg.raftConfig(n.id, n.cfg.Logger)
	if err := n.bootstrap(rc, cache, watched, snaps); err != nil {
		return err
	}
	if n.raft, err = raft.NewRaft(rc, n.fsm, cache, watched, snaps, n.transport); err != nil {
		return fmt.Errorf("cannot start raft: %w", err)
	}
	if err := n.electIfAlone(); err != nil {
		return errors.Join(err, n.raft.Shutdown().Error())
	}
	n.spawn(n.lead)
	n.spawn(n.snapshotWhenFull)
	if n.identity != nil {
		n.spawn(n.learnCluster)
	}
	return nil
}

// openStores opens the log, votes and snapshots.
func (n *Node) openStores() (store, raft.SnapshotStore, error) {
	if n.cfg.InMemory {
		return raft.NewInmemStore(), raft.NewInmemSnapshotStore(), nil
	}
	var err error
	if n.identity, err = openIdentity(n.cfg.Dir, n.cfg.ClusterID); err != nil {
		return nil, nil, err
	}
	n.id = n.identity.ServerID
	opts := &bbolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType}
	disk, err := raftboltdb.New(raftboltdb.Options{Path: filepath.Join(n.cfg.Dir, logFile), BoltOptions: opts})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open %s (is another process using it?): %w", filepath.Join(n.cfg.Dir, logFile), err)
	}
	n.disk = disk
	snaps, err := raft.NewFileSnapshotStore(n.cfg.Dir, 2, &logWriter{n.cfg.Logger})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open the snapshots in %s: %w", n.cfg.Dir, err)
	}
	if !n.identity.Started {
		n.identity.Started = true
		if err := errors.Join(syncDir(n.cfg.Dir), n.identity.save(n.cfg.Dir)); err != nil {
			return nil, nil, err
		}
	}
	return disk, snaps, nil
}

func (n *Node) openTransport() {
	if n.transport = n.cfg.Transport; n.transport == nil {
		n.transport = raft.NewNetworkTransport(n.cfg.Stream, 3, 10*time.Second, &logWriter{n.cfg.Logger})
	}
}

// bootstrap makes a cluster of this node alone, if it is asked for and nothing
// is there yet.
func (n *Node) bootstrap(rc *raft.Config, logs raft.LogStore, stable raft.StableStore, snaps raft.SnapshotStore) error {
	if !n.cfg.Bootstrap {
		return nil
	}
	exists, err := raft.HasExistingState(logs, stable, snaps)
	if err != nil {
		return fmt.Errorf("cannot look for an existing cluster: %w", err)
	}
	if exists {
		return nil
	}
	alone := raft.Configuration{Servers: []raft.Server{{ID: rc.LocalID, Address: n.transport.LocalAddr()}}}
	if err := raft.BootstrapCluster(rc, logs, stable, snaps, n.transport, alone); err != nil {
		return fmt.Errorf("cannot bootstrap the cluster: %w", err)
	}
	return nil
}

// electIfAlone sets the wanted timers. Lowering them makes a follower look for
// a leader at once, so that the only voter of a group need not wait; in a
// larger group the timers run as usual.
func (n *Node) electIfAlone() error {
	future := n.raft.GetConfiguration()
	if err := future.Error(); err != nil {
		return fmt.Errorf("cannot read raft's configuration: %w", err)
	}
	voters, self := 0, false
	for _, s := range future.Configuration().Servers {
		if s.Suffrage == raft.Voter {
			voters++
			self = self || string(s.ID) == n.id
		}
	}
	if voters != 1 || !self {
		return nil
	}
	rc := n.raft.ReloadableConfig()
	rc.HeartbeatTimeout, rc.ElectionTimeout = n.cfg.HeartbeatTimeout, n.cfg.ElectionTimeout
	if err := n.raft.ReloadConfig(rc); err != nil {
		return fmt.Errorf("cannot set raft's timers: %w", err)
	}
	return nil
}

// ID is this node's raft server id.
func (n *Node) ID() string { return n.id }

// View calls f with the State under a read lock. f must not block or keep the
// State; objects that it finds may be kept.
func (n *Node) View(f func(*meta.State)) { n.fsm.view(f) }

// spawn runs a goroutine that ends with the node.
func (n *Node) spawn(f func()) { n.running.Go(f) }

// fatal stops the transport, so that nobody hears from this node any more, and
// ends the process.
func (n *Node) fatal(err error) {
	n.fatalOnce.Do(func() {
		n.cfg.Logger.Error("metadata cannot go on", "err", err)
		if c, ok := n.transport.(raft.WithClose); ok {
			_ = c.Close() // the process ends anyway
		}
		n.cfg.Fatal(err)
	})
}

// snapshotWhenFull takes a snapshot when the log has grown by SnapshotBytes,
// so that few large entries do not fill the disk before many small ones would.
func (n *Node) snapshotWhenFull() {
	for {
		select {
		case <-n.done:
			return
		case <-n.fsm.full:
			if err := n.raft.Snapshot().Error(); err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) && !errors.Is(err, raft.ErrRaftShutdown) {
				n.cfg.Logger.Warn("snapshot failed", "err", err)
			}
		}
	}
}

// learnCluster writes the cluster's id into the directory once it is known,
// and stops a node that finds itself in another cluster.
func (n *Node) learnCluster() {
	for {
		changed := n.Changed()
		var clusterID string
		n.View(func(s *meta.State) { clusterID = s.ClusterID() })
		switch {
		case clusterID == "":
		case n.identity.ClusterID == "":
			known := *n.identity
			known.ClusterID = clusterID
			if err := known.save(n.cfg.Dir); err != nil {
				n.fatal(err)
			}
			return
		case n.identity.ClusterID != clusterID:
			n.fatal(fmt.Errorf("data directory %q belongs to cluster %s, but the metadata are of cluster %s", n.cfg.Dir, n.identity.ClusterID, clusterID))
			return
		default:
			return
		}
		select {
		case <-n.done:
			return
		case <-changed:
		}
	}
}

// Close stops the node. Proposals that are under way end as Unknown. It
// returns the context's error if raft does not stop in time.
func (n *Node) Close(ctx context.Context) error {
	n.stopBackground()
	if err := wait(ctx, n.raft.Shutdown()); err != nil {
		return fmt.Errorf("raft did not stop: %w", err)
	}
	n.running.Wait()
	return n.closeStores()
}

func (n *Node) stopBackground() { n.closeOnce.Do(func() { close(n.done) }) }

func (n *Node) closeStores() error {
	var errs []error
	if c, ok := n.transport.(raft.WithClose); ok {
		errs = append(errs, c.Close())
	}
	if n.disk != nil {
		errs = append(errs, n.disk.Close())
	}
	return errors.Join(errs...)
}

// wait waits for a raft future, which has no deadline of its own.
func wait(ctx context.Context, f raft.Future) error {
	done := make(chan error, 1)
	go func() { done <- f.Error() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
