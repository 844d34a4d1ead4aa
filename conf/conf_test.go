package conf

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

func TestReferenceIsCurrent(t *testing.T) {
	const path = "../docs/configuration.md"
	want := Reference()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/configuration.md differs from the keys; run go test ./conf -update")
	}
}

func TestDefaults(t *testing.T) {
	fe, be := DefaultFE(), DefaultBE()
	if err := errors.Join(fe.Validate(), be.Validate()); err != nil {
		t.Error(err)
	}
	for key, want := range map[string]string{
		"query_port": "9030", "http_port": "8030", "rpc_port": "9020", "edit_log_port": "9010", "fe_gossip_port": "9011",
		"group_commit_interval_ms_default_value": "10000", "group_commit_data_bytes_default_value": "67108864",
		"streaming_label_keep_max_second": "43200", "label_num_threshold": "2000", "max_running_txn_num_per_db": "10000",
	} {
		if e, ok := fe.Lookup(key); !ok || e.Value != want {
			t.Errorf("FE %s = %q, want %q", key, e.Value, want)
		}
	}
	for key, want := range map[string]string{
		"webserver_port": "8040", "be_port": "9060", "heartbeat_service_port": "9050", "be_gossip_port": "9061",
		"group_commit_queue_mem_limit": "67108864", "group_commit_wal_max_disk_limit": "10%", "group_commit_wal_sync": "true",
		"group_commit_max_wal_num_per_table": "10", "group_commit_memory_rows_for_max_filter_ratio": "10000",
		"streaming_load_max_mb": "102400", "string_type_length_soft_limit_bytes": "10485760",
	} {
		if e, ok := be.Lookup(key); !ok || e.Value != want {
			t.Errorf("BE %s = %q, want %q", key, e.Value, want)
		}
	}
	if be.WALDisk.Bytes(1000) != 100 || fe.StreamKeep.Seconds() != 12*time.Hour {
		t.Error("typed values are wrong")
	}
}

// TestEntries: every key says what it is, in a form that the page can print.
func TestEntries(t *testing.T) {
	for role, entries := range map[string][]Entry{"FE": DefaultFE().Entries(), "BE": DefaultBE().Entries()} {
		seen := make(map[string]bool)
		for _, e := range entries {
			if seen[e.Key] || e.Key != strings.ToLower(e.Key) {
				t.Errorf("%s key %q is there twice or not lower case", role, e.Key)
			}
			seen[e.Key] = true
			if e.Doc == "" || strings.HasSuffix(e.Doc, ".") || strings.Contains(e.Doc, "|") || e.Section == "" {
				t.Errorf("%s key %s: description %q, section %q", role, e.Key, e.Doc, e.Section)
			}
			if e.Value != e.Default {
				t.Errorf("%s key %s: default %q is printed as %q", role, e.Key, e.Default, e.Value)
			}
		}
	}
}

func TestPrecedence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fe.conf")
	text := "\ufeff# comment\n\nquery_port = 1\nhttp_port=2\r\nrpc_port = 3\n meta_dir = ${HOME}/meta${NOTHING}$x\n" +
		"JAVA_OPTS=\"-Xmx1g\"\nrpc_port = 4\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := DefaultFE()
	warnings, err := c.Load(Source{
		File: path,
		Env:  []string{"DORISGO_HTTP_PORT=20", "DORISGO_RPC_PORT=30", "HOME=/h", "DORISGO_PORT=tcp://10.0.0.1:80"},
		Sets: []string{"rpc_port = 300"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := []any{c.QueryPort.Get(), c.HTTPPort.Get(), c.RPCPort.Get(), c.MetaDir.Get()}
	for i, want := range []any{int64(1), int64(20), int64(300), "/h/meta$x"} {
		if got[i] != want {
			t.Errorf("value %d is %v, want %v", i, got[i], want)
		}
	}
	all := strings.Join(warnings, "\n")
	for _, want := range []string{"NOTHING", "JAVA_OPTS", "line 5 already"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning of %s in:\n%s", want, all)
		}
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "be.conf")
	if err := os.WriteFile(path, []byte("be_port = high\nno line\ngroup_commit_wal_sync = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := DefaultBE()
	_, err := c.Load(Source{
		File: path, Env: []string{"DORISGO_SYS_LOG_LEVEL=loud"},
		Sets: []string{"webserver_prt=1", "x", "be_gossip_port=70000", "group_commit_wal_max_disk_limit=half"},
	})
	for _, want := range []string{
		`be.conf:1: bad value for be_port: "high" is not an integer`, `be.conf:2: "no line"`, `be.conf:3:`,
		`DORISGO_SYS_LOG_LEVEL: bad value for sys_log_level: "loud" is none of DEBUG, INFO, WARN, ERROR, FATAL`,
		`unknown key "webserver_prt" of the BE: did you mean "webserver_port"?`, `--set x: not of the form`,
		`70000 is not between 0 and 65535`, `"half" is neither a size`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not have %s:\n%v", want, err)
		}
	}
	if c.Port.Get() != 9060 {
		t.Error("a bad value changed the key")
	}
	for _, s := range []string{"be_port=8040", "storage_root_path=a;b;a/", "group_commit_wal_path=rel", "priority_networks=10.0.0.0/8;x", "group_commit_replay_wal_retry_interval_seconds=3600"} {
		if _, err := c.Load(Source{Sets: []string{s}}); err != nil {
			t.Fatal(err)
		}
	}
	err = c.Validate()
	for _, want := range []string{
		"webserver_port and be_port are both 8040", `storage_root_path has "a" twice`, `absolute path, not "rel"`,
		`"x" is no network`, "group_commit_replay_wal_retry_interval_seconds (3600) is larger",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate does not say %s:\n%v", want, err)
		}
	}
}

func TestLoadFiles(t *testing.T) {
	c := DefaultFE()
	missing := filepath.Join(t.TempDir(), "none")
	if _, err := c.Load(Source{File: missing, FileOptional: true}); err != nil {
		t.Error(err)
	}
	if _, err := c.Load(Source{File: missing}); err == nil {
		t.Error("a missing file is no error")
	}
	if _, err := c.Load(Source{Sets: []string{"be_port=1"}, Shared: true}); err != nil || c.Has("be_port") {
		t.Error("a key of another role is an error:", err)
	}
}

func TestSet(t *testing.T) {
	c := DefaultBE()
	for _, tt := range []struct {
		key, val string
		want     error
	}{
		{"group_commit_queue_mem_limit", "2097152", nil},
		{"group_commit_queue_mem_limit", "5", ErrBadValue},
		{"be_port", "1", ErrNotMutable},
		{"nope", "1", ErrUnknownKey},
		{"sys_log_level", "debug", nil},
		{"group_commit_queue_mem_limit", "NaN", ErrBadValue},
		{"wait_internal_group_commit_finish", "TRUE", nil},
	} {
		if err := c.Set(tt.key, tt.val); !errors.Is(err, tt.want) {
			t.Errorf("Set(%s, %s) = %v, want %v", tt.key, tt.val, err, tt.want)
		}
	}
	if c.QueueMem.Get() != 2097152 || c.LogLevel.Get() != "DEBUG" || !c.WaitInternal.Get() {
		t.Error("values were not set")
	}
}

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64
		bad  bool
	}{
		{"10%", 20, false}, {"0%", 0, false}, {"100%", 200, false}, {"101%", 0, true}, {"64m", 64 << 20, false}, {"64MB", 64 << 20, false},
		{"1.5G", 3 << 29, false}, {"7", 7, false}, {"7B", 7, false}, {" 2 K ", 2048, false}, {"", 0, true}, {"-1", 0, true},
		{"1e30", 0, true}, {"inf", 0, true}, {"x", 0, true}, {"%", 0, true},
	} {
		var s Size
		store, _, err := s.parse(tt.text)
		if (err != nil) != tt.bad {
			t.Errorf("%q: error %v", tt.text, err)
			continue
		}
		if err == nil {
			store()
			if got := s.Bytes(200); got != tt.want {
				t.Errorf("%q is %d, want %d", tt.text, got, tt.want)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	c := DefaultFE()
	for name, want := range map[string]string{
		"qury_port": "query_port", "meta_dirs": "meta_dir", "completely_different_thing": "", "": "",
		"group_commit_interval_ms_default": "group_commit_interval_ms_default_value",
	} {
		if got := c.nearest(name); got != want {
			t.Errorf("nearest to %q is %q, want %q", name, got, want)
		}
	}
}

func FuzzLoadFile(f *testing.F) {
	f.Add("query_port = 1\n# x\n\nmeta_dir=${A}b${\nx")
	f.Fuzz(func(t *testing.T, text string) {
		c := DefaultFE()
		c.loadFile("f", text, map[string]string{"A": "${A}"})
		for _, e := range c.Entries() {
			if err := c.byKey[e.Key].set(e.Value); err != nil {
				t.Errorf("%s: its own value %q is refused: %v", e.Key, e.Value, err)
			}
		}
	})
}
