package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// loadReport is what `dorisgo load --output json` prints.
type loadReport struct {
	Status      string
	Interrupted bool
	LoadedRows  int64
	Chunks      struct{ Loaded, AlreadyLoaded, Failed, Unknown, NotTried int }
}

// loadClient is one run of `dorisgo load`.
type loadClient struct {
	tb  testing.TB
	cmd *exec.Cmd
	out strings.Builder
	// notes are the lines of standard error: with --debug one for each chunk.
	notes *bufio.Scanner
}

func startLoad(tb testing.TB, args ...string) *loadClient {
	tb.Helper()
	c := &loadClient{tb: tb, cmd: exec.Command(binary, append([]string{"load", "--output", "json", "--debug"}, args...)...)}
	c.cmd.Dir = tb.TempDir() // no state of another run is near
	c.cmd.Stdout = &c.out
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	pipe, err := c.cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	c.notes = bufio.NewScanner(pipe)
	if err := startForGood(c.cmd); err != nil {
		tb.Fatal(err)
	}
	return c
}

// chunks waits until n more chunks were begun.
func (c *loadClient) chunks(n int) {
	c.tb.Helper()
	for n > 0 && c.notes.Scan() {
		if strings.Contains(c.notes.Text(), ": label ") {
			n--
		}
	}
	if n > 0 {
		c.tb.Fatalf("the client ended %d chunks too early: %s", n, c.out.String())
	}
}

// end waits for the end and returns exit code and report.
func (c *loadClient) end() (int, *loadReport) {
	c.tb.Helper()
	rest := ""
	for c.notes.Scan() {
		rest += c.notes.Text() + "\n"
	}
	_ = c.cmd.Wait() // the state says it all
	r := &loadReport{}
	if c.cmd.ProcessState.ExitCode() >= 0 {
		if err := json.Unmarshal([]byte(c.out.String()), r); err != nil {
			c.tb.Fatalf("exit code %d, report %q: %s\n%s", c.cmd.ProcessState.ExitCode(), c.out.String(), err, rest)
		}
	}
	return c.cmd.ProcessState.ExitCode(), r
}

// TestLoadCommandResumes: a client that is killed or interrupted in the middle
// leaves nothing half done and no state; run again it loads what is missing, once.
func TestLoadCommandResumes(t *testing.T) {
	const rows = 300_000
	a := startAlone(t)
	s := connect(t, a.address(""))
	s.run("CREATE DATABASE bulk")
	s.run("CREATE TABLE bulk.t (id INT, note STRING) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 2")
	path := filepath.Join(t.TempDir(), "rows.csv")
	var b strings.Builder
	for id := range rows {
		fmt.Fprintf(&b, "%d,\"a \"\"note\"\"\nof %d\"\n", id, id)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	// The address that does not answer comes first.
	args := []string{
		"--url", fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", freePort(t), a.feHTTP), "--db", "bulk", "--table", "t", "--workers", "2", "--max_byte_per_task", "100000",
		"--header", `column_separator:,?enclose:"`, "--source_file", path,
	}
	c := startLoad(t, args...)
	c.chunks(10)
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.end()
	killed := s.value("SELECT count(*) FROM bulk.t")

	c = startLoad(t, args...)
	c.chunks(25)
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	code, r := c.end()
	if code != 4 || r.Status != "Partial" || !r.Interrupted || r.Chunks.Loaded == 0 || r.Chunks.AlreadyLoaded == 0 || r.Chunks.Unknown != 0 {
		t.Errorf("interrupted: exit code %d, report %+v", code, *r)
	}
	interrupted := s.value("SELECT count(*) FROM bulk.t")
	second := *r

	c = startLoad(t, args...)
	code, r = c.end()
	if code != 0 || r.Status != "Success" || r.Chunks.Loaded == 0 || r.Chunks.AlreadyLoaded < 10 {
		t.Errorf("third run: exit code %d, report %+v", code, *r)
	}
	if r.Chunks.AlreadyLoaded != second.Chunks.Loaded+second.Chunks.AlreadyLoaded {
		t.Errorf("the interrupted run reports %+v, the next one found %+v", second, *r)
	}
	t.Logf("rows after the kill %s, after the interrupt %s", killed, interrupted)
	for query, want := range map[string]string{
		"SELECT count(*) FROM bulk.t":                        strconv.Itoa(rows),
		"SELECT count(DISTINCT id) FROM bulk.t":              strconv.Itoa(rows),
		"SELECT sum(id) FROM bulk.t":                         strconv.FormatInt(rows*(rows-1)/2, 10),
		"SELECT note FROM bulk.t WHERE id = 12345":           "a \"note\"\nof 12345",
		"SELECT count(*) FROM bulk.t WHERE note IS NOT NULL": strconv.Itoa(rows),
	} {
		if got := s.value(query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestLoadCommandOverARestart: a server that is killed and comes back is waited
// for, and each row is there once.
func TestLoadCommandOverARestart(t *testing.T) {
	const rows = 200_000
	a := startAlone(t)
	s := connect(t, a.address(""))
	s.run("CREATE DATABASE bulk")
	s.run("CREATE TABLE bulk.t (id INT, note STRING) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 2")
	in, out := io.Pipe()
	c := &loadClient{tb: t}
	c.cmd = exec.Command(binary, "load", "--output", "json", "--debug", "--url", fmt.Sprintf("127.0.0.1:%d", a.feHTTP), "--db", "bulk", "--table", "t",
		"--max_byte_per_task", "100000", "--auto_retry_interval", "1", "--auto_retry_times", "60", "-H", "format: json", "-")
	c.cmd.Stdin, c.cmd.Stdout = in, &c.out
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	pipe, err := c.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.notes = bufio.NewScanner(pipe)
	if err := startForGood(c.cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		w := bufio.NewWriter(out)
		for id := range rows {
			fmt.Fprintf(w, "{\"id\":%d,\"note\":\"note %d\"}\n", id, id)
		}
		_ = w.Flush() // the count tells
		out.Close()
	}()
	c.chunks(10)
	a.kill()
	a.start()
	code, r := c.end()
	if code != 0 || r.Status != "Success" {
		t.Fatalf("exit code %d, report %+v", code, *r)
	}
	s = connect(t, a.address("bulk"))
	eventually(t, 30*time.Second, "all rows", func() (bool, string) {
		n := s.value("SELECT count(*) FROM t")
		return n == strconv.Itoa(rows), n
	})
	if n := s.value("SELECT count(DISTINCT id) FROM t"); n != strconv.Itoa(rows) {
		t.Errorf("%s different ids, want %d", n, rows)
	}
}
