package exec

import (
	"os"
	"testing"

	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
)

// A file that was damaged behind our back fails the queries that need it as that
// tablet's fault, here and on another BE, and no others.
func TestDamagedFiles(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"gone":      os.Remove,
		"cut off":   func(path string) error { return os.Truncate(path, 100) },
		"empty":     func(path string) error { return os.Truncate(path, 0) },
		"overwrote": zero,
	} {
		t.Run(name, func(t *testing.T) {
			boxes := newBoxes(t, 2, 4)
			for _, b := range boxes {
				b.load(101, schema1, numbered(t, 1, 300)) // a file
				b.load(102, schema1, numbered(t, 1, 300)) // a file
				s, err := b.engine.Snapshot(t.Context(), part, 102, b.version)
				if err != nil {
					t.Fatal(err)
				}
				path := s.Files()[0].Path
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if err := harm(path); err != nil {
					t.Fatal(err)
				}
				_, err = boxes[0].query(t.Context(), `SELECT sum(n) FROM t`, table("t", columnsPB(schema1...), b.on(101, 102)))
				if place, ok := doriserr.PlaceOf(err); !doriserr.Is(err, doriserr.Corrupt) || !ok || place != (doriserr.Place{BackendID: b.Self, TabletID: 102}) {
					t.Errorf("from backend %d: %v (%s) at %v", b.Self, err, doriserr.KindOf(err), place)
				}
				boxes[0].want(`SELECT sum(n) FROM t`, []*bepb.QueryTable{table("t", columnsPB(schema1...), b.on(101))}, "451500")
			}
		})
	}
}

// zero overwrites a file with zeros.
func zero(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, make([]byte, info.Size()), 0o600)
}
