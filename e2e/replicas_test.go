package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dorisgo/client"
)

// repairTime is how long a cluster may take from a BE's return until every
// tablet has all its replicas.
const repairTime = 60 * time.Second

// replicaCluster is a cluster of BEs with tables of three replicas.
func replicaCluster(t *testing.T, backends int) (*cluster, *crashed) {
	t.Helper()
	cl := startCluster(t, backends, "group_commit_replay_wal_retry_interval_seconds = 1")
	createCrashTables(connect(t, cl.address("")), 8, 3)
	ports := func() (out []int) {
		for _, b := range cl.be {
			out = append(out, b.http)
		}
		return out
	}
	return cl, &crashed{tb: t, address: cl.address("crash"), wals: cl.wals, aside: cl.aside, http: ports}
}

// whole waits until every replica has every version, and tells how long that
// took.
func (c *cluster) whole(tb testing.TB) time.Duration {
	tb.Helper()
	start := time.Now()
	s := connect(tb, c.address("crash"))
	eventually(tb, repairTime, "every tablet is whole", func() (bool, string) {
		for _, table := range crashTables {
			rows, err := s.try("ADMIN SHOW REPLICA STATUS FROM crash." + table)
			if err != nil {
				return false, err.Error()
			}
			versions := map[string]string{} // by tablet
			for _, r := range rows {
				if v, ok := versions[r[0]]; r[len(r)-1] != "OK" || ok && v != r[3] {
					return false, fmt.Sprint(r)
				}
				versions[r[0]] = r[3]
			}
			if len(rows) != 24 || len(versions) != 8 {
				return false, fmt.Sprintf("%d replicas of %d tablets", len(rows), len(versions))
			}
		}
		n := metric(tb, c.feHTTP, "dorisgo_fe_unhealthy_tablets")
		return n == "0", n + " tablets are not whole"
	})
	return time.Since(start)
}

// TestCrashReplicas kills BEs of five while clients go on, and keeps one away
// for longer than it takes to be missed. A minority of a tablet's replicas is
// never missed by anybody: nothing is lost or doubled, nothing has to wait, and
// the replicas become whole by themselves.
func TestCrashReplicas(t *testing.T) {
	t.Parallel()
	cl, c := replicaCluster(t, 5)
	s := seed(t)
	r := rand.New(rand.NewPCG(s, 0))
	n := max(2, rounds(t)/2)
	var took []time.Duration
	for round := range n {
		w := startWorkload(t, s, round, c.address, c.http(), true, crashTables...)
		b := cl.be[r.IntN(len(cl.be))]
		time.Sleep(100*time.Millisecond + upTo(r, 500*time.Millisecond)) // the moment of the crash
		b.kill()
		away := upTo(r, 500*time.Millisecond)
		if round == n-1 {
			away = 8 * time.Second // longer than it takes to count as dead
		}
		time.Sleep(away)
		b.start()
		back := time.Now()
		time.Sleep(upTo(r, 300*time.Millisecond)) // how long clients go on
		w.stop()
		w.wait(t)
		cl.whole(t)
		took = append(took, time.Since(back).Round(10*time.Millisecond))
		c.settle(round, w.ledger)
	}
	t.Logf("from the return of a backend until all its replicas were whole: %v", took)
	c.finish()
	// Each BE can be spared: any replica alone has all rows with one other.
	for i, b := range cl.be {
		if i >= n {
			break
		}
		b.kill()
		for _, table := range crashTables {
			countWithout(t, c.address, table)
		}
		b.start()
		cl.whole(t)
	}
}

// countWithout reads a table while a BE is away: no row is missing, and no
// client has to know.
func countWithout(t *testing.T, a client.Address, table string) {
	t.Helper()
	s := connect(t, a)
	rows, err := s.try(fmt.Sprintf("SELECT COUNT(*), COUNT(DISTINCT id) FROM crash.%s WHERE round >= 0", table))
	if err != nil {
		t.Fatal(err)
	}
	if rows[0][0] != rows[0][1] || rows[0][0] == "0" {
		t.Errorf("%s without one backend: %v", table, rows)
	}
}

// TestLostRoot: a BE whose storage is gone does not start, and one whose loss is
// accepted is filled from the others.
func TestLostRoot(t *testing.T) {
	t.Parallel()
	cl, c := replicaCluster(t, 4)
	s := seed(t)
	w := startWorkload(t, s, 0, c.address, c.http(), true, crashTables...)
	time.Sleep(time.Second) // of load
	w.stop()
	w.wait(t)
	c.settle(0, w.ledger)
	b := cl.be[1]
	b.stop()
	// The storage root is lost, and its WAL directory is not.
	if err := os.RemoveAll(b.root); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(b.root, 0o755); err != nil {
		t.Fatal(err)
	}
	b.launch()
	if code := b.wait(readyTime); code == 0 {
		t.Fatal("a backend without its storage root ended with success")
	}
	log, err := os.ReadFile(b.log)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`--accept-loss=([0-9a-f-]+)`).FindSubmatch(log)
	if m == nil {
		t.Fatalf("the refusal does not say how to go on:\n%s", tail(b.log, 20))
	}
	plain := b.args
	b.args = append(slices.Clone(plain), "--accept-loss="+string(m[1]))
	b.start()
	t.Logf("filled anew in %s", cl.whole(t))
	b.stop()
	b.args = plain
	b.start()
	cl.whole(t)
	// Two others go: what is read now comes from the new replicas too.
	w = startWorkload(t, s, 1, c.address, c.http(), true, crashTables...)
	time.Sleep(500 * time.Millisecond) // of load
	w.stop()
	w.wait(t)
	c.settle(1, w.ledger)
	cl.whole(t)
	cl.be[2].kill()
	for _, table := range crashTables {
		countWithout(t, c.address, table)
	}
	cl.be[2].start()
	c.finish()
}

// TestJoinAndLeave: a BE that joins gets its share of the replicas under load, a
// decommissioned one is emptied and dropped, and no row is lost or doubled.
func TestJoinAndLeave(t *testing.T) {
	t.Parallel()
	cl, c := replicaCluster(t, 3)
	s := seed(t)
	sql := connect(t, c.address)
	w := startWorkload(t, s, 0, c.address, c.http(), true, crashTables...)
	base := filepath.Dir(cl.be[0].root)
	cl.be = append(cl.be, startBackend(t, base, "be4", cl.rpc))
	replicas := func() map[string]int {
		n := map[string]int{}
		for _, table := range crashTables {
			for _, r := range sql.run("ADMIN SHOW REPLICA STATUS FROM crash." + table) {
				n[r[2]]++
			}
		}
		return n
	}
	ids := func() (out []string) {
		for _, r := range sql.run("SHOW BACKENDS") {
			out = append(out, r[0])
		}
		return out
	}
	fresh := slices.MaxFunc(ids(), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	})
	eventually(t, repairTime, "the new backend has its share", func() (bool, string) {
		n := replicas()
		return n[fresh] >= 10, fmt.Sprint(n)
	})
	w.stop()
	w.wait(t)
	cl.whole(t)
	c.settle(0, w.ledger)
	w = startWorkload(t, s, 1, c.address, c.http(), true, crashTables...)
	gone := ""
	var leaving *backend
	for _, r := range sql.run("SHOW BACKENDS") {
		if r[0] != fresh {
			gone = r[0]
			for _, b := range cl.be {
				if strconv.Itoa(b.beat) == r[2] {
					leaving = b
				}
			}
			sql.run(fmt.Sprintf(`ALTER SYSTEM DECOMMISSION BACKEND "%s:%s"`, r[1], r[2]))
			break
		}
	}
	time.Sleep(500 * time.Millisecond) // of load
	w.stop()
	w.wait(t)
	eventually(t, repairTime, "the decommissioned backend is dropped", func() (bool, string) {
		left := ids()
		return !slices.Contains(left, gone), strings.Join(left, ",") + fmt.Sprint(replicas())
	})
	// It hears that it belongs to no cluster any more.
	if code := leaving.wait(readyTime); code == 0 {
		t.Error("the backend that was dropped ended with success")
	}
	cl.be = slices.DeleteFunc(cl.be, func(b *backend) bool { return b == leaving })
	cl.whole(t)
	c.settle(1, w.ledger)
	c.finish()
}

// TestPausedReplica stops a BE of three for a while as an overloaded machine
// would, while clients load: loads go on with the two others, and the third has
// the same rows later.
func TestPausedReplica(t *testing.T) {
	t.Parallel()
	cl, c := replicaCluster(t, 3)
	s := seed(t)
	sql := connect(t, c.address)
	sql.run("SET group_commit = 'sync_mode'")
	victim := cl.be[1]
	for round, pause := range []time.Duration{time.Second, 7 * time.Second} {
		w := startWorkload(t, s, round, c.address, []int{cl.be[0].http, cl.be[2].http}, true, crashTables...)
		time.Sleep(300 * time.Millisecond) // of load
		victim.signal(syscall.SIGSTOP)
		time.Sleep(pause)
		// A load of its own: the first one that waited for the slow one is over.
		start := time.Now()
		for {
			_, err := sql.try("INSERT INTO crash.fast (id, round) VALUES (-1, -1)")
			if err == nil {
				break
			}
			if time.Since(start) > 15*time.Second {
				t.Fatalf("no load got through beside a backend that hangs: %s", err)
			}
		}
		t.Logf("a load beside the backend that hangs took %s", time.Since(start).Round(time.Millisecond))
		victim.signal(syscall.SIGCONT)
		time.Sleep(300 * time.Millisecond) // of load
		w.stop()
		w.wait(t)
		c.settle(round, w.ledger)
		cl.whole(t)
	}
	// The one that was slow has all of it: it answers with one of the others.
	cl.be[0].kill()
	for _, table := range crashTables {
		countWithout(t, c.address, table)
	}
	cl.be[0].start()
	cl.whole(t)
	c.finish()
}

// TestMajorityLost: with two of three replicas away a load fails before its
// commit and leaves nothing, and everything goes on once they are back.
func TestMajorityLost(t *testing.T) {
	t.Parallel()
	cl, c := replicaCluster(t, 3)
	sql := connect(t, c.address)
	sql.run("SET group_commit = 'sync_mode'")
	cl.be[0].kill()
	for i := range 100 {
		sql.run(fmt.Sprintf("INSERT INTO crash.fast (id, round, note) VALUES (%d, 0, 'note %d')", i, i))
	}
	cl.be[0].start()
	cl.whole(t)
	cl.be[1].kill()
	cl.be[2].kill()
	eventually(t, settleTime, "the backends count as dead", func() (bool, string) {
		alive := 0
		for _, a := range sql.columnOf("SHOW BACKENDS", "Alive") {
			if a == "true" {
				alive++
			}
		}
		return alive == 1, fmt.Sprint(alive)
	})
	sql.refused("INSERT INTO crash.fast (id, round) VALUES (1000, 0)", 0, "fewer than a majority")
	cl.be[1].start()
	cl.be[2].start()
	cl.whole(t)
	if n := sql.run("SELECT COUNT(*), COUNT(DISTINCT id), MAX(id) FROM crash.fast")[0]; fmt.Sprint(n) != "[100 100 99]" {
		t.Errorf("after all that: %v", n)
	}
	sql.run("INSERT INTO crash.fast (id, round) VALUES (1001, 0)")
}
