package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script writes an executable that stands in for the binary.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStartAndStop(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	waits := `trap 'exit 0' TERM
echo "$@" >"$TMPDIR/$1.args"
case $1 in
standalone) echo ready mysql=1 fe_http=2 be_http=3;;
fe) echo ready mysql=4 http=5 rpc=6 raft=7 gossip=8;;
be) echo ready backend_id=9 http=10 rpc=11;;
esac
while :; do sleep 0.02; done`
	bin := script(t, waits)
	s, err := StartStandalone(t.Context(), bin, []string{"a=b"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Target.Login.Addr != "127.0.0.1:1" || s.Target.HTTP != "127.0.0.1:3" || len(s.Target.PIDs) != 1 {
		t.Errorf("%+v", s.Target)
	}
	c, err := StartCluster(t.Context(), bin, 1, []string{"fe:x=1", "be:y=2"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Target.Login.Addr != "127.0.0.1:4" || c.Target.HTTP != "127.0.0.1:10" || len(c.Target.PIDs) != 2 {
		t.Errorf("%+v", c.Target)
	}
	for name, want := range map[string][]string{
		"standalone": {"--mysql-port 0", "--set a=b"}, "fe": {"--set x=1"}, "be": {"--set y=2", "frontends=127.0.0.1:6", "gossip_seeds=127.0.0.1:8"},
	} {
		args, err := os.ReadFile(filepath.Join(os.TempDir(), name+".args"))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(args), w) {
				t.Errorf("%s: %s lacks %s", name, args, w)
			}
		}
	}
	for _, s := range []*Server{s, c} {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there", s.dir)
		}
	}
}

func TestStartTellsWhy(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	_, err := StartStandalone(t.Context(), script(t, "echo no disk >&2; exit 3"), nil)
	if err == nil || !strings.Contains(err.Error(), "no disk") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%v", err)
	}
}
