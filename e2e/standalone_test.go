package e2e

import (
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dorisgo/client"
)

// alone is a standalone node with ports that stay over its restarts.
type alone struct {
	*process
	// dir is the data directory.
	dir                   string
	mysql, feHTTP, beHTTP int
}

// newAlone makes a node that is not started; sets are --set arguments.
func newAlone(tb testing.TB, sets ...string) *alone {
	tb.Helper()
	base := tb.TempDir()
	return newAloneAt(tb, "standalone", base, filepath.Join(base, "data"), sets...)
}

func newAloneAt(tb testing.TB, name, base, dir string, sets ...string) *alone {
	tb.Helper()
	a := &alone{dir: dir, mysql: freePort(tb), feHTTP: freePort(tb), beHTTP: freePort(tb)}
	args := []string{
		"standalone", "--data-dir", a.dir, "--mysql-port", strconv.Itoa(a.mysql),
		"--fe-http-port", strconv.Itoa(a.feHTTP), "--be-http-port", strconv.Itoa(a.beHTTP),
	}
	for _, s := range sets {
		args = append(args, "--set", s)
	}
	a.process = newProcess(tb, name, base, args...)
	return a
}

// startAlone makes a node that serves.
func startAlone(tb testing.TB, sets ...string) *alone {
	tb.Helper()
	a := newAlone(tb, sets...)
	a.start()
	return a
}

// address is where its MySQL clients connect.
func (a *alone) address(db string) client.Address {
	return client.Address{Host: "127.0.0.1", Port: a.mysql, User: "root", DB: db}
}

// wals are the files of open and waiting groups.
func (a *alone) wals(tb testing.TB) []string { return walFiles(tb, filepath.Join(a.dir, "be", "wal")) }

// walFiles are the WALs in a WAL directory: <db_id>/<table_id>/<file>.
func walFiles(tb testing.TB, dir string) []string {
	tb.Helper()
	var out []string
	for _, f := range filesBelow(tb, dir) {
		if rel, err := filepath.Rel(dir, f); err == nil && strings.Count(rel, "/") == 2 {
			out = append(out, f)
		}
	}
	return out
}

// aside are the WALs that a person must look at.
func (a *alone) aside(tb testing.TB) []string {
	return asideFiles(tb, filepath.Join(a.dir, "be", "wal"))
}

// asideFiles are the WALs that were set aside in a WAL directory, but for what
// any kill may leave: a file without a header, and one with a torn tail whose
// other frames were replayed.
func asideFiles(tb testing.TB, dir string) []string {
	tb.Helper()
	var out []string
	for _, f := range filesBelow(tb, dir) {
		if ext := filepath.Ext(f); filepath.Dir(f) == filepath.Join(dir, "tmp") && ext != ".noheader" && ext != ".torn" {
			out = append(out, f)
		}
	}
	return out
}

// filesBelow are the plain files below a directory; what goes away meanwhile is
// left out.
func filesBelow(tb testing.TB, dir string) []string {
	tb.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// parquets are the Parquet files below a directory.
func parquets(tb testing.TB, dir string) []string {
	tb.Helper()
	var out []string
	for _, f := range filesBelow(tb, dir) {
		if strings.HasSuffix(f, ".parquet") && !strings.Contains(f, "/trash/") {
			out = append(out, f)
		}
	}
	return out
}
