package duck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

func TestNoExternalAccess(t *testing.T) {
	d, dir := open(t)
	outside := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(outside, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(dir, "x.csv")
	if err := os.WriteFile(inside, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"SELECT * FROM read_text('/etc/hostname')",
		"SELECT * FROM read_csv('" + outside + "')",
		"SELECT * FROM '" + outside + "'",
		"SELECT * FROM read_csv('" + dir + "/../" + filepath.Base(filepath.Dir(outside)) + "/x.csv')",
		"COPY (SELECT 1) TO '" + outside + ".out'",
		"COPY (SELECT 1) TO '/tmp/duck-no-access.csv'",
		"ATTACH '" + outside + ".db' AS a",
		"INSTALL httpfs", "LOAD httpfs",
		"SELECT * FROM read_csv('http://127.0.0.1:1/x.csv')",
		"SET enable_external_access=true", "SET allowed_directories=['/']", "SET lock_configuration=false",
		"SET memory_limit='10GB'", "SET threads=99", "RESET memory_limit", "PRAGMA threads=50",
		"EXPORT DATABASE '" + outside + ".d'",
		"SELECT * FROM glob('/etc/*')",
	} {
		if b, _, err := all(t, d, &Query{SQL: sql}); err == nil && (b.Rows() > 0 || !strings.Contains(sql, "glob")) {
			t.Errorf("%s: no refusal", sql)
		}
	}
	if got := single(t, d, &Query{SQL: "SELECT a FROM read_csv('" + inside + "')"}); got != 1 {
		t.Errorf("inside: %d", got)
	}
}

func TestOpenRefusesRelativeDirectories(t *testing.T) {
	for _, o := range []Options{{Dirs: []string{"data"}}, {TempDir: "tmp"}} {
		if d, err := Open(o); err == nil {
			d.Close()
			t.Errorf("%+v: no error", o)
		}
	}
}
