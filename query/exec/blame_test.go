package exec

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
	"dorisgo/storage"
)

// A file that was damaged behind our back fails the queries that need it as that
// tablet's fault, here and on another BE, and no others. From then on its replica is
// out of service.
func TestDamagedFiles(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"gone":         os.Remove,
		"cut off":      func(path string) error { return os.Truncate(path, 100) },
		"empty":        func(path string) error { return os.Truncate(path, 0) },
		"overwrote":    zero,
		"page headers": func(path string) error { return body(path, func(b []byte) { clear(b) }) },
		"pages":        func(path string) error { return body(path, scramble) },
		"footer":       footer,
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
				if _, err := b.engine.Snapshot(t.Context(), part, 102, b.version); !isBehind(err) {
					t.Errorf("the replica is in service: %v", err)
				}
				boxes[0].want(`SELECT sum(n) FROM t`, []*bepb.QueryTable{table("t", columnsPB(schema1...), b.on(101))}, "451500")
			}
		})
	}
}

// An error that is the statement's fault is nobody else's, whatever it says.
func TestInnocentFiles(t *testing.T) {
	b := newBoxes(t, 1, 4)[0]
	b.load(101, schema1, numbered(t, 1, 300)) // a file
	in := table("t", columnsPB(schema1...), b.on(101))
	_, err := b.query(t.Context(), `SELECT CAST(name AS INT) FROM t`, in)
	if _, ok := doriserr.PlaceOf(err); err == nil || ok {
		t.Errorf("%v", err)
	}
	b.want(`SELECT sum(n) FROM t`, []*bepb.QueryTable{in}, "451500")
}

func isBehind(err error) bool {
	_, behind := errors.AsType[*storage.BehindError](err)
	return behind
}

// zero overwrites a file with zeros.
func zero(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, make([]byte, info.Size()), 0o600)
}

// body changes what is between a Parquet file's first mark and its footer.
func body(path string, change func([]byte)) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	end := len(b) - 8 - int(binary.LittleEndian.Uint32(b[len(b)-8:]))
	change(b[4:end])
	return os.WriteFile(path, b, 0o600)
}

// scramble inverts what follows the header of a page or two: compressed data.
func scramble(b []byte) {
	for i := len(b) / 2; i < len(b); i++ {
		b[i] ^= 0xff
	}
}

// footer makes the length of the footer wrong.
func footer(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(b[len(b)-8:], 1<<30)
	return os.WriteFile(path, b, 0o600)
}
