package conf

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
)

// Validate checks what spans several keys, or a key and its form. All problems
// are in the error.
func (c *FE) Validate() error {
	v := checker{role: "FE"}
	v.ports(map[string]*Int{
		"query_port": &c.QueryPort, "http_port": &c.HTTPPort, "rpc_port": &c.RPCPort,
		"edit_log_port": &c.EditLogPort, "fe_gossip_port": &c.GossipPort,
	}, "query_port", "http_port", "rpc_port", "edit_log_port", "fe_gossip_port")
	v.networks(&c.Priority)
	v.notEmpty("meta_dir", &c.MetaDir)
	return v.err()
}

// Validate checks what spans several keys, or a key and its form. All problems
// are in the error.
func (c *BE) Validate() error {
	v := checker{role: "BE"}
	v.ports(map[string]*Int{
		"webserver_port": &c.WebPort, "be_port": &c.Port, "be_gossip_port": &c.GossipPort,
	}, "webserver_port", "be_port", "be_gossip_port")
	v.networks(&c.Priority)
	v.distinct("storage_root_path", c.Roots.List(";"), true)
	v.distinct("group_commit_wal_path", c.WALPath.List(";"), false)
	for _, dir := range c.WALPath.List(";") {
		if !filepath.IsAbs(dir) {
			v.add("group_commit_wal_path has to be an absolute path, not %q", dir)
		}
	}
	v.ordered("group_commit_replay_wal_retry_interval_seconds", &c.ReplayPause,
		"group_commit_replay_wal_retry_interval_max_seconds", &c.ReplayPauseMax)
	return v.err()
}

// checker gathers problems.
type checker struct {
	role string
	errs []error
}

func (v *checker) add(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf(v.role+": "+format, args...))
}

func (v *checker) err() error { return errors.Join(v.errs...) }

// ports checks that no two are the same; 0 lets the system choose.
func (v *checker) ports(ports map[string]*Int, order ...string) {
	owner := make(map[int64]string)
	for _, key := range order {
		p := ports[key].Get()
		if other := owner[p]; other != "" && p != 0 {
			v.add("%s and %s are both %d", other, key, p)
		}
		owner[p] = key
	}
}

func (v *checker) networks(t *Text) {
	for _, n := range t.List(";") {
		if _, err := netip.ParsePrefix(n); err != nil {
			v.add("priority_networks: %q is no network in CIDR form", n)
		}
	}
}

func (v *checker) notEmpty(key string, t *Text) {
	if t.Get() == "" {
		v.add("%s is empty", key)
	}
}

func (v *checker) ordered(lowKey string, low *Int, highKey string, high *Int) {
	if low.Get() > high.Get() {
		v.add("%s (%d) is larger than %s (%d)", lowKey, low.Get(), highKey, high.Get())
	}
}

// distinct checks a list of directories.
func (v *checker) distinct(key string, dirs []string, needed bool) {
	if needed && len(dirs) == 0 {
		v.add("%s is empty", key)
	}
	seen := make(map[string]bool)
	for _, d := range dirs {
		if d = filepath.Clean(d); seen[d] {
			v.add("%s has %q twice", key, d)
		}
		seen[d] = true
	}
}
