package clustertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// kind is a sort of fault.
type kind int

const (
	kill  kind = iota // SIGKILL, and a new start
	stop              // SIGTERM, exit code 0, and a new start
	pause             // all threads stand still
	cut               // no network
)

func (k kind) String() string { return [...]string{"kill", "stop", "pause", "cut"}[k] }

// fault is one fault of one node.
type fault struct {
	kind kind
	node int // 0 is the FE
	// hold is the time until the fault is undone.
	hold time.Duration
}

func (f fault) String() string {
	name := "fe"
	if f.node > 0 {
		name = fmt.Sprintf("be%d", f.node)
	}
	return fmt.Sprintf("%s %s for %s", f.kind, name, f.hold.Round(10*time.Millisecond))
}

// step is some faults at the same time, on different nodes.
type step struct {
	faults []fault
	// wait lets the cluster recover before the next step.
	wait bool
}

func (s step) String() string {
	texts := make([]string, len(s.faults))
	for i, f := range s.faults {
		texts[i] = f.String()
	}
	text := strings.Join(texts, " and ")
	if !s.wait {
		text += ", no rest"
	}
	return text
}

// plan is one round of faults: every kind on a BE, a kill and a stop of the FE,
// in any order. Further rounds (first is false) have double faults, and the FE
// paused and cut as well.
func plan(r *rand.Rand, first bool) []step {
	var faults []fault
	for k := kill; k <= cut; k++ {
		faults = append(faults, fault{kind: k, node: 1 + r.IntN(backends), hold: hold(r, k)})
		if k == kill || k == stop || !first {
			faults = append(faults, fault{kind: k, hold: hold(r, k)})
		}
	}
	r.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	var steps []step
	for _, f := range faults {
		if n := len(steps); !first && n > 0 && r.IntN(3) == 0 && !steps[n-1].hits(f.node) {
			steps[n-1].faults = append(steps[n-1].faults, f)
			continue
		}
		steps = append(steps, step{faults: []fault{f}, wait: r.IntN(3) > 0})
	}
	return steps
}

func (s step) hits(node int) bool {
	return slices.ContainsFunc(s.faults, func(f fault) bool { return f.node == node })
}

// hold is how long a fault lasts: pauses ten seconds, so that heartbeats fail.
// A BE that is away for more than five seconds counts as dead.
func hold(r *rand.Rand, k kind) time.Duration {
	switch k {
	case pause:
		return 10 * time.Second
	case cut:
		return 5*time.Second + time.Duration(r.Int64N(int64(5*time.Second)))
	}
	return time.Duration(r.Int64N(int64(8 * time.Second)))
}

// inflict does the fault, waits, and undoes it.
func (c *cluster) inflict(ctx context.Context, f fault) error {
	n := c.nodes[f.node]
	do, undo := c.actions(f.kind, n)
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s %s: %w", f.kind, n.name, err)
	}
	select {
	case <-time.After(f.hold): // the fault's duration
	case <-ctx.Done():
	}
	if err := undo(ctx); err != nil {
		return fmt.Errorf("undo %s %s: %w", f.kind, n.name, err)
	}
	return nil
}

func (c *cluster) actions(k kind, n *node) (do, undo func(context.Context) error) {
	start := func(ctx context.Context) error {
		_, err := c.cli.ContainerStart(ctx, n.id, client.ContainerStartOptions{})
		return err
	}
	switch k {
	case kill:
		return func(ctx context.Context) error {
			_, err := c.cli.ContainerKill(ctx, n.id, client.ContainerKillOptions{Signal: "SIGKILL"})
			return err
		}, start
	case stop:
		return func(ctx context.Context) error { return c.stop(ctx, n) }, start
	case pause:
		return func(ctx context.Context) error {
				_, err := c.cli.ContainerPause(ctx, n.id, client.ContainerPauseOptions{})
				return err
			}, func(ctx context.Context) error {
				_, err := c.cli.ContainerUnpause(ctx, n.id, client.ContainerUnpauseOptions{})
				return err
			}
	}
	return func(ctx context.Context) error {
			_, err := c.cli.NetworkDisconnect(ctx, c.net, client.NetworkDisconnectOptions{Container: n.id})
			return err
		}, func(ctx context.Context) error {
			_, err := c.cli.NetworkConnect(ctx, c.net, client.NetworkConnectOptions{Container: n.id, EndpointConfig: endpoint(n.ip)})
			return err
		}
}

// stop ends a node in order; its exit code must be 0.
func (c *cluster) stop(ctx context.Context, n *node) error {
	seconds := 60 // above the node's own limit
	if _, err := c.cli.ContainerStop(ctx, n.id, client.ContainerStopOptions{Timeout: &seconds}); err != nil {
		return err
	}
	res, err := c.cli.ContainerInspect(ctx, n.id, client.ContainerInspectOptions{})
	if err != nil {
		return err
	}
	state := res.Container.State
	if state.ExitCode == 0 {
		return nil
	}
	b, _ := c.logs(ctx, n.id)
	if state.ExitCode == unstarted && !spokeSince(b, state.StartedAt) {
		return nil
	}
	return fmt.Errorf("exit code %d after SIGTERM:\n%s", state.ExitCode, lastLines(b, 20))
}

// unstarted is the exit code of a Go program that is a container's first process
// and gets SIGTERM before main runs, as a node that was started a moment ago may.
const unstarted = 2

// spokeSince reports whether a log with timestamps has a line of that time or
// later; true if that cannot be told.
func spokeSince(log []byte, start string) bool {
	from, err := time.Parse(time.RFC3339Nano, start)
	if err != nil {
		return true
	}
	stamp, _, _ := strings.Cut(lastLines(log, 1), " ")
	last, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(stamp))
	return err != nil || !last.Before(from)
}

func TestSpokeSince(t *testing.T) {
	log := []byte("2026-11-30T17:35:20.574214748Z time=a\n2026-11-30T17:35:22.575219902Z time=b msg=\"publish is tried again\"\n")
	for start, want := range map[string]bool{
		"2026-11-30T17:35:22.6Z": false, "2026-11-30T17:35:22.575219902Z": true, "2026-11-30T17:35:21Z": true, "": true,
	} {
		if got := spokeSince(log, start); got != want {
			t.Errorf("since %q: %v, want %v", start, got, want)
		}
	}
}
