package testcluster

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dorisgo/storage"
)

// TestDamagedFilesAreReplaced: the files of one backend are damaged inside, as a
// rotten disk does it. Queries go on with right answers, whichever replica they
// begin with, and the files are cloned anew.
func TestDamagedFilesAreReplaced(t *testing.T) {
	c := start(t, 1, 3)
	s := connect(t, c, 0)
	created(s, "d", columns, fmt.Sprintf(props, 4, 3, 20))
	for i := range 10 {
		values := make([]string, 100)
		for j := range values {
			values[j] = fmt.Sprintf("(%d, 'row %d of statement %d', 1)", 100*i+j, j, i)
		}
		s.exec("INSERT INTO t VALUES " + strings.Join(values, ","))
	}
	c.whole(t, "t", 3)
	tablets := c.table(t, "d", "t").Partitions[0].Tablets
	for _, b := range c.BEs {
		for _, tablet := range tablets {
			if err := b.Node.Engine.Flush(t.Context(), tablet.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	bad := c.BEs[1].Node
	if n := rot(t, bad.Engine.Roots()[0].Path); n < len(tablets) {
		t.Fatalf("%d files of %d tablets", n, len(tablets))
	}
	const query, want = "SELECT COUNT(*), SUM(n), MIN(name) FROM t", "1000,1000,row 0 of statement 0"
	noticed := poll(t, 30*time.Second, func() bool {
		s.want(query, want)
		return slices.ContainsFunc(bad.Engine.Replicas(), func(r storage.ReplicaInfo) bool { return r.Hole != 0 })
	})
	if !noticed {
		t.Fatal("no query noticed the damage")
	}
	// Each query may notice one tablet's.
	healed := poll(t, 60*time.Second, func() bool {
		s.want(query, want)
		for _, tablet := range tablets {
			if bad.Engine.Scrub(t.Context(), tablet.ID) != nil {
				return false
			}
		}
		return true
	})
	if !healed {
		t.Error("damaged files are still there")
	}
	c.whole(t, "t", 3)
	c.sameRows(t, "t", 1000)
}

// rot inverts a part of every Parquet file below a directory.
func rot(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".parquet" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i := 4; i < len(b)/2; i++ {
			b[i] ^= 0xff
		}
		n++
		return os.WriteFile(path, b, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
