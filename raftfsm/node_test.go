package raftfsm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
)

func TestASingleNodeLeadsAtOnceAndKeepsItsState(t *testing.T) {
	dir := t.TempDir()
	start := time.Now()
	n := mustOpen(t, dir, nil)
	leads(t, n)
	if took := time.Since(start); took > 500*time.Millisecond {
		t.Errorf("a new single node took %s to lead", took)
	}
	res := propose(t, n, &meta.CreateDatabase{Name: "d"})
	id := n.ID()
	mustClose(t, n)

	start = time.Now()
	n = mustOpen(t, dir, func(c *Config) { c.Bootstrap = false })
	defer mustClose(t, n)
	leads(t, n)
	if took := time.Since(start); took > 500*time.Millisecond {
		t.Errorf("a restarted single node took %s to lead", took)
	}
	if n.ID() != id {
		t.Errorf("server id %s after restart, want %s", n.ID(), id)
	}
	if err := n.WaitApplied(t.Context(), res.Index); err != nil {
		t.Fatal(err)
	}
	n.View(func(s *meta.State) {
		if d := s.DatabaseByName("d"); d == nil || d.ID != res.ID {
			t.Errorf("database after restart: %+v, want id %d", d, res.ID)
		}
		if s.ClusterID() == "" {
			t.Error("the cluster has no id")
		}
	})
}

func TestSnapshotAndRestore(t *testing.T) {
	dir := t.TempDir()
	n := mustOpen(t, dir, nil)
	leads(t, n)
	propose(t, n, &meta.CreateDatabase{Name: "before"})
	if err := n.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	propose(t, n, &meta.CreateDatabase{Name: "after"})
	want, index := snapshotOf(t, n), n.AppliedIndex()
	mustClose(t, n)

	n = mustOpen(t, dir, nil)
	defer mustClose(t, n)
	leads(t, n)
	if err := n.WaitApplied(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	if got := snapshotOf(t, n); got != want {
		t.Errorf("the state after restart differs: %d bytes, want %d", len(got), len(want))
	}
}

func TestTheIndexIsKnownFromTheSnapshotAlone(t *testing.T) {
	dir := t.TempDir()
	n := mustOpen(t, dir, nil)
	leads(t, n)
	res := propose(t, n, &meta.CreateDatabase{Name: "d"})
	if err := n.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustClose(t, n)
	n = mustOpen(t, dir, nil)
	defer mustClose(t, n)
	if n.AppliedIndex() < res.Index {
		t.Errorf("index %d straight after open, want at least %d", n.AppliedIndex(), res.Index)
	}
}

func TestErrorsOfTheFSMAreDecisions(t *testing.T) {
	n := mustOpen(t, t.TempDir(), nil)
	defer mustClose(t, n)
	leads(t, n)
	propose(t, n, &meta.CreateDatabase{Name: "d"})
	res, err := n.Propose(t.Context(), &meta.CreateDatabase{Name: "d"})
	if !doriserr.Is(err, doriserr.DatabaseExists) {
		t.Fatalf("error %v, want database exists", err)
	}
	if res.Index == 0 {
		t.Error("a decision has no index")
	}
}

func TestDirectoriesThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	n := mustOpen(t, dir, func(c *Config) { c.ClusterID = "cluster-a" })
	leads(t, n)
	mustClose(t, n)
	identity := filepath.Join(dir, identityFile)
	good, err := os.ReadFile(identity)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(want string, change func(*Config)) {
		t.Helper()
		n, err := openDisk(t, dir, change)
		if err == nil {
			mustClose(t, n)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	refused("belongs to cluster cluster-a, not cluster-b", func(c *Config) { c.ClusterID = "cluster-b" })
	write := func(text string) {
		if err := os.WriteFile(identity, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(strings.Replace(string(good), `"format": 1`, `"format": 2`, 1))
	refused("has format 2, this build knows up to 1", nil)
	write("{")
	refused("cannot read", nil)
	write(string(good))
	if err := os.Rename(filepath.Join(dir, logFile), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	refused("has lost its log", nil)
	if err := os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, logFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(identity); err != nil {
		t.Fatal(err)
	}
	refused("has a log but no identity.json", nil)
}

func TestTwoProcessesCannotShareADirectory(t *testing.T) {
	dir := t.TempDir()
	n := mustOpen(t, dir, nil)
	defer mustClose(t, n)
	if _, err := openDisk(t, dir, nil); err == nil || !strings.Contains(err.Error(), "is another process using it?") {
		t.Errorf("error %v", err)
	}
}

func TestWaitsHaveABound(t *testing.T) {
	n := mustOpen(t, t.TempDir(), nil)
	defer mustClose(t, n)
	leads(t, n)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.WaitApplied(ctx, 1<<40); !doriserr.Is(err, doriserr.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
	if len(n.fsm.waits.byIndex) != 0 {
		t.Error("a waiter that gave up is still kept")
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	if _, err := n.Propose(ctx, &meta.CreateDatabase{Name: "x"}); !doriserr.Is(err, doriserr.Timeout) {
		t.Errorf("error %v, want timeout: it was not proposed", err)
	}
}

func TestChangedIsClosedByTheNextCommand(t *testing.T) {
	n := mustOpen(t, t.TempDir(), nil)
	defer mustClose(t, n)
	leads(t, n)
	ch := n.Changed()
	select {
	case <-ch:
		t.Fatal("closed before anything changed")
	default:
	}
	propose(t, n, &meta.CreateDatabase{Name: "d"})
	select {
	case <-ch:
	case <-time.After(10 * time.Second):
		t.Fatal("not closed by a command")
	}
}

func TestAnUnknownLogEntryStopsTheNode(t *testing.T) {
	fatal := make(chan error, 1)
	n := mustOpen(t, t.TempDir(), func(c *Config) { c.Fatal = func(err error) { fatal <- err } })
	defer mustClose(t, n)
	leads(t, n)
	before := snapshotOf(t, n)
	if err := n.raft.Apply([]byte{8, 99}, time.Second).Error(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-fatal:
		if !errors.Is(err, meta.ErrUnknownCommand) {
			t.Errorf("fatal with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the node goes on after an entry of a newer build")
	}
	if _, err := n.Propose(t.Context(), &meta.CreateDatabase{Name: "d"}); !doriserr.Is(err, doriserr.Unknown) {
		t.Errorf("a proposal after that: %v, want unknown", err)
	}
	if snapshotOf(t, n) != before {
		t.Error("something was applied after the entry that was not understood")
	}
}
