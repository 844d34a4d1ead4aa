package fe

import (
	"context"
	"time"

	"dorisgo/meta"
)

// watchBackends follows heartbeats for one term: a BE that was silent for too
// long is marked dead by a command. A new leader first hears everybody out.
func (n *Node) watchBackends(ctx context.Context) {
	began := time.Now()
	ticker := time.NewTicker(n.cfg.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var alive []*meta.Backend
		n.Raft.View(func(st *meta.State) {
			for _, b := range st.Backends() {
				if b.Alive {
					alive = append(alive, b)
				}
			}
		})
		beats := n.rpc.Beats()
		for _, b := range alive {
			last := began
			if beat, ok := beats[b.ID]; ok && beat.BootEpoch == b.BootEpoch && beat.At.After(began) {
				last = beat.At
			}
			if time.Since(last) < n.cfg.DeadAfter {
				continue
			}
			_, err := n.Raft.Propose(ctx, &meta.SetBackendAlive{ID: b.ID, BootEpoch: b.BootEpoch, ErrMsg: "no heartbeat since " + last.Format(time.DateTime)})
			if err != nil && ctx.Err() == nil {
				n.log.Warn("a silent backend could not be marked dead", "backend_id", b.ID, "err", err)
				continue
			}
			n.log.Warn("backend is silent and counts as dead", "backend_id", b.ID, "host", b.Host)
		}
	}
}
