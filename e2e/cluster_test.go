package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"dorisgo/client"
)

// cluster is one FE and some BEs, each a process of its own on loopback, with
// ports that stay over restarts.
type cluster struct {
	fe            *process
	mysql, feHTTP int
	// rpc is the FE's gRPC port.
	rpc int
	be  []*backend
}

type backend struct {
	*process
	// root is the storage directory; the WALs are in root.wal.
	root string
	http int
	// beat is the port that operators name it by.
	beat int
}

// startCluster makes a cluster that serves; sets are lines of every node's
// configuration.
func startCluster(tb testing.TB, backends int, beSets ...string) *cluster {
	tb.Helper()
	base := tb.TempDir()
	c := &cluster{mysql: freePort(tb), feHTTP: freePort(tb), rpc: freePort(tb)}
	c.fe = newProcess(tb, "fe", base, "fe", "start", "--conf", writeConf(tb, base, "fe.conf",
		"listen_host = 127.0.0.1", "advertise_host = 127.0.0.1", "meta_dir = "+filepath.Join(base, "meta"),
		"default_replication_num = 1", fmt.Sprintf("query_port = %d", c.mysql), fmt.Sprintf("http_port = %d", c.feHTTP), fmt.Sprintf("rpc_port = %d", c.rpc),
		fmt.Sprintf("edit_log_port = %d", freePort(tb)), fmt.Sprintf("fe_gossip_port = %d", freePort(tb))))
	c.fe.start()
	for i := range backends {
		c.be = append(c.be, startBackend(tb, base, "be"+strconv.Itoa(i+1), c.rpc, beSets...))
	}
	return c
}

// startBackend starts a BE of the FE with the gRPC port.
func startBackend(tb testing.TB, base, name string, feRPC int, sets ...string) *backend {
	tb.Helper()
	b := newBackend(tb, base, name, filepath.Join(base, name), feRPC, sets...)
	b.start()
	return b
}

func newBackend(tb testing.TB, base, name, root string, feRPC int, sets ...string) *backend {
	tb.Helper()
	b := &backend{root: root, http: freePort(tb), beat: freePort(tb)}
	lines := append([]string{
		"listen_host = 127.0.0.1", "advertise_host = 127.0.0.1", "storage_root_path = " + b.root, fmt.Sprintf("frontends = 127.0.0.1:%d", feRPC),
		fmt.Sprintf("webserver_port = %d", b.http), fmt.Sprintf("be_port = %d", freePort(tb)), fmt.Sprintf("be_gossip_port = %d", freePort(tb)),
		fmt.Sprintf("heartbeat_service_port = %d", b.beat),
	}, sets...)
	b.process = newProcess(tb, name, base, "be", "start", "--conf", writeConf(tb, base, name+".conf", lines...))
	return b
}

func writeConf(tb testing.TB, dir, name string, lines ...string) string {
	tb.Helper()
	path := filepath.Join(dir, name)
	var b []byte
	for _, l := range lines {
		b = append(append(b, l...), '\n')
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		tb.Fatal(err)
	}
	return path
}

func (c *cluster) address(db string) client.Address {
	return client.Address{Host: "127.0.0.1", Port: c.mysql, User: "root", DB: db}
}

// aside are the WALs of all BEs that a person must look at.
func (c *cluster) aside(tb testing.TB) []string {
	tb.Helper()
	var out []string
	for _, b := range c.be {
		out = append(out, asideFiles(tb, b.root+".wal")...)
	}
	return out
}

// wals are the WALs of all BEs.
func (c *cluster) wals(tb testing.TB) []string {
	tb.Helper()
	var out []string
	for _, b := range c.be {
		out = append(out, walFiles(tb, b.root+".wal")...)
	}
	return out
}
