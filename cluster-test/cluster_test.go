package clustertest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/moby/moby/client"
)

// backends is the number of BEs; the FE is node 0.
const backends = 3

// node is a container of the cluster. Its address stays over restarts.
type node struct {
	name string
	id   string
	ip   netip.Addr
}

// cluster is one FE and some BEs in a network of their own, reached by the
// addresses of the containers.
type cluster struct {
	*docker
	net   string
	nodes []*node
}

// startCluster builds the image and starts the nodes; they serve when
// c.await(…, c.healthy) returns.
func startCluster(tb testing.TB) *cluster {
	tb.Helper()
	binary := os.Getenv("CHAOS_BINARY")
	if binary == "" {
		binary = "../bin/dorisgo"
	}
	if _, err := os.Stat(binary); err != nil {
		tb.Fatalf("build the binary first (make build): %s", err)
	}
	c := &cluster{docker: newDocker(tb)}
	image := c.image("../Dockerfile", binary)
	var subnet netip.Prefix
	c.net, subnet = c.network()
	ip := subnet.Addr().Next() // the gateway
	var fe netip.Addr
	for i := range 1 + backends {
		ip = ip.Next()
		n := &node{name: "fe", ip: ip}
		command := []string{"fe", "start", "--set", "meta_dir=/data/meta"}
		if i == 0 {
			fe = ip
		} else {
			n.name = fmt.Sprintf("be%d", i)
			command = []string{
				"be", "start", "--set", "storage_root_path=/data/storage", "--set", fmt.Sprintf("frontends=%s:9020", fe),
				"--set", fmt.Sprintf("gossip_seeds=%s:9011", fe), "--set", "query_memory_limit=536870912", "--set", "flush_memory_limit=268435456",
				// Groups that lost a replica are replayed: soon, for a test. Their number is no subject.
				"--set", "group_commit_replay_wal_retry_interval_seconds=1", "--set", "group_commit_replay_wal_retry_interval_max_seconds=2",
				"--set", "group_commit_max_wal_num_per_table=1000",
			}
		}
		command = append(command, "--set", "advertise_host="+ip.String(), "--set", "cluster_token=a-chaos-token")
		n.id = c.container(n.name, image, c.net, c.volume(n.name), ip, command)
		c.nodes = append(c.nodes, n)
	}
	for _, n := range c.nodes {
		c.start(n)
	}
	return c
}

func (c *cluster) fe() *node { return c.nodes[0] }

func (c *cluster) start(n *node) {
	c.tb.Helper()
	if _, err := c.cli.ContainerStart(c.ctx, n.id, client.ContainerStartOptions{}); err != nil {
		c.tb.Fatalf("start %s: %s", n.name, err)
	}
}

// open returns a pool of connections to the FE; params are session variables.
func (c *cluster) open(db string, params map[string]string) *sql.DB {
	conf := mysql.NewConfig()
	conf.Net, conf.Addr, conf.User, conf.DBName, conf.Params = "tcp", c.fe().ip.String()+":9030", "root", db, params
	conf.Timeout, conf.InterpolateParams, conf.Logger = 5*time.Second, true, &mysql.NopLogger{}
	connector, err := mysql.NewConnector(conf)
	if err != nil {
		panic(err) // the configuration is ours
	}
	return sql.OpenDB(connector)
}

// running fails the test if a container ended that nobody ended.
func (c *cluster) running(ctx context.Context) {
	c.tb.Helper()
	for _, n := range c.nodes {
		res, err := c.cli.ContainerInspect(ctx, n.id, client.ContainerInspectOptions{})
		if err != nil {
			c.tb.Fatalf("inspect %s: %s", n.name, err)
		}
		if st := res.Container.State; !st.Running || st.Paused {
			b, _ := c.logs(ctx, n.id)
			c.tb.Fatalf("%s ended by itself with code %d:\n%s", n.name, st.ExitCode, lastLines(b, 20))
		}
	}
}

// healthy says whether all BEs are alive in the eyes of the FE.
func (c *cluster) healthy(ctx context.Context) error {
	c.running(ctx)
	db := c.open("", nil)
	defer db.Close()
	rows, err := query(ctx, db, "SHOW BACKENDS")
	if err != nil {
		return err
	}
	alive := 0
	for _, r := range rows {
		if r["Alive"] == "true" {
			alive++
		}
	}
	if len(rows) != backends || alive != backends {
		return fmt.Errorf("%d of %d backends are alive", alive, len(rows))
	}
	return nil
}

// noWALs says whether every BE reports that no WAL is left.
func (c *cluster) noWALs(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:8030/api/get_wal_size", c.fe().ip), nil)
	if err != nil {
		return err
	}
	req.SetBasicAuth("root", "")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	var m struct {
		Msg  string   `json:"msg"`
		Data []string `json:"data"`
	}
	if err := json.Unmarshal(b, &m); err != nil || m.Msg != "success" || len(m.Data) != backends {
		return fmt.Errorf("get_wal_size: %s", b)
	}
	for _, d := range m.Data {
		if !strings.HasSuffix(d, ":0") {
			return fmt.Errorf("WALs are left: %v", m.Data)
		}
	}
	return nil
}

// query returns rows by column name.
func query(ctx context.Context, db *sql.DB, stmt string) ([]map[string]string, error) {
	rows, err := db.QueryContext(ctx, stmt)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []map[string]string
	for rows.Next() {
		values, dest := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		m := make(map[string]string, len(names))
		for i, n := range names {
			m[n] = values[i].String
		}
		out = append(out, m)
	}
	return out, rows.Err()
}

// await asks until the answer is nil; a question may take ten seconds.
func (c *cluster) await(limit time.Duration, what string, ask func(context.Context) error) time.Duration {
	c.tb.Helper()
	start := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		ctx, cancel := context.WithTimeout(c.ctx, 10*time.Second)
		err := ask(ctx)
		cancel()
		if err == nil {
			return time.Since(start)
		}
		if time.Since(start) > limit {
			c.tb.Fatalf("not after %s: %s: %s", limit, what, err)
		}
		select {
		case <-tick.C:
		case <-c.ctx.Done():
			c.tb.Fatal(errors.Join(c.ctx.Err(), err))
		}
	}
}
