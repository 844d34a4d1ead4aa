package be

import (
	"context"

	"dorisgo/be/catalog"
)

// sealer seals a table's open groups when its epoch or schema changes: whoever
// changed it waits until the groups of before are decided (docs/protocol.md,
// rules 10 and 11), and should not wait for their interval.
type sealer struct {
	catalog *catalog.Catalog
	seal    func(tableID int64)
	seen    map[int64]tableState
}

// tableState is what ends the groups of a table when it changes.
type tableState struct {
	epoch  uint64
	schema int32
}

func newSealer(c *catalog.Catalog, seal func(int64)) *sealer {
	return &sealer{catalog: c, seal: seal, seen: map[int64]tableState{}}
}

func (s *sealer) run(ctx context.Context) {
	for {
		changed := s.catalog.Changed()
		s.look()
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// look seals what changed since the last look.
func (s *sealer) look() {
	now := map[int64]tableState{}
	for _, id := range s.catalog.TableIDs() {
		t, ok := s.catalog.TableByID(id)
		if !ok {
			continue
		}
		now[id] = tableState{t.Epoch, t.SchemaVersion}
		if was, known := s.seen[id]; known && was != now[id] {
			s.seal(id)
		}
	}
	for id := range s.seen {
		if _, ok := now[id]; !ok {
			s.seal(id) // dropped
		}
	}
	s.seen = now
}
