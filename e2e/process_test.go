package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// readyTime is how long a node may take to serve.
	readyTime = 30 * time.Second
	// stopTime is the grace of an orderly stop.
	stopTime = 30 * time.Second
)

// process is one node: a command line that can be run again and again. Its
// methods belong to the test's goroutine unless they say otherwise.
type process struct {
	tb   testing.TB
	name string
	args []string
	// log is the file with the standard error of all runs.
	log string

	cmd   *exec.Cmd
	out   *readyLine
	ended chan struct{}
	// state is valid after ended.
	state *os.ProcessState
}

// newProcess does not start anything yet. The process is killed at the end of
// the test, whatever became of it.
func newProcess(tb testing.TB, name, dir string, args ...string) *process {
	tb.Helper()
	p := &process{tb: tb, name: name, args: args, log: filepath.Join(dir, name+".log")}
	tb.Cleanup(func() {
		p.kill()
		if tb.Failed() {
			tb.Logf("the log of %s ends with\n%s", name, tail(p.log, 60))
			keepLog(tb, p.log)
		}
	})
	return p
}

// keepLog copies a log of a failed test to the directory E2E_LOGS, if that is
// set.
func keepLog(tb testing.TB, path string) {
	tb.Helper()
	dir := os.Getenv("E2E_LOGS")
	if dir == "" {
		return
	}
	b, err := os.ReadFile(path)
	if err == nil {
		if err = os.MkdirAll(dir, 0o755); err == nil {
			err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(tb.Name(), "/", "_")+"."+filepath.Base(path)), b, 0o644)
		}
	}
	if err != nil {
		tb.Log(err)
	}
}

// launch starts the process without waiting until it serves.
func (p *process) launch() {
	p.tb.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		p.tb.Fatal(err)
	}
	defer log.Close()
	fmt.Fprintf(log, "---- start: %s\n", strings.Join(p.args, " "))
	p.out = &readyLine{seen: make(chan struct{})}
	p.cmd = exec.Command(binary, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, log
	// A test binary that dies leaves nothing behind.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := startForGood(p.cmd); err != nil {
		p.tb.Fatalf("%s does not start: %s", p.name, err)
	}
	p.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // the state says it all
		p.state = cmd.ProcessState
		close(ended)
	}(p.cmd, p.ended)
}

// start starts the process and waits until it serves.
func (p *process) start() {
	p.tb.Helper()
	p.launch()
	p.waitReady()
}

func (p *process) waitReady() {
	p.tb.Helper()
	select {
	case <-p.out.seen:
	case <-p.ended:
		p.tb.Fatalf("%s ended before it was ready: %s\n%s", p.name, p.state, tail(p.log, 60))
	case <-time.After(readyTime):
		p.tb.Fatalf("%s is not ready after %s\n%s", p.name, readyTime, tail(p.log, 60))
	}
}

// kill is kill -9, and the end of the process. A process that does not run is
// left alone.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
}

// signal sends a signal.
func (p *process) signal(s os.Signal) {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.tb.Fatalf("%s: %s", p.name, err)
	}
}

// wait gives the exit code; -1 is a process that a signal ended.
func (p *process) wait(within time.Duration) int {
	p.tb.Helper()
	select {
	case <-p.ended:
	case <-time.After(within):
		p.tb.Fatalf("%s still runs %s after it should have ended\n%s", p.name, within, tail(p.log, 60))
	}
	return p.state.ExitCode()
}

// stop is an orderly stop that has to succeed.
func (p *process) stop() {
	p.tb.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.wait(stopTime); code != 0 {
		p.tb.Fatalf("%s: exit code %d after SIGTERM\n%s", p.name, code, tail(p.log, 60))
	}
}

// fails runs the process, which has to end by itself with an exit code, and
// returns what it wrote to standard error.
func (p *process) fails(code int) string {
	p.tb.Helper()
	before, _ := os.ReadFile(p.log) //nolint:errcheck // there is none at the first start
	p.launch()
	if got := p.wait(readyTime); got != code {
		p.tb.Errorf("%s: exit code %d, want %d\n%s", p.name, got, code, tail(p.log, 20))
	}
	after, err := os.ReadFile(p.log)
	if err != nil {
		p.tb.Fatal(err)
	}
	return string(after[len(before):])
}

// readyLine is a standard output that waits for the line that starts with
// "ready". It is safe for concurrent use.
type readyLine struct {
	mu   sync.Mutex
	buf  []byte
	line string
	seen chan struct{}
}

func (r *readyLine) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.line != "" {
		return len(b), nil
	}
	r.buf = append(r.buf, b...)
	for {
		line, rest, ok := bytes.Cut(r.buf, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		r.buf = rest
		if bytes.HasPrefix(line, []byte("ready ")) {
			r.line = string(line)
			close(r.seen)
			return len(b), nil
		}
	}
}

// tail is the last lines of a file.
func tail(path string, lines int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// spawner starts all processes from one thread that never ends: Linux sends
// Pdeathsig at the end of the thread that started a process.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

func startForGood(cmd *exec.Cmd) error {
	done := make(chan error)
	spawner() <- func() { done <- cmd.Start() }
	return <-done
}

var (
	portsMu sync.Mutex
	ports   = map[int]bool{}
)

// freePort is a port that nothing listens on and that no other call gave. It
// lies below the ports that the kernel hands out, so it stays free over a
// restart.
func freePort(tb testing.TB) int {
	tb.Helper()
	portsMu.Lock()
	defer portsMu.Unlock()
	for range 1000 {
		port := 12000 + rand.IntN(20000)
		if ports[port] {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		l.Close()
		ports[port] = true
		return port
	}
	tb.Fatal("no free port")
	return 0
}

// eventually polls until ok says yes; what ok last said is in the failure.
func eventually(tb testing.TB, within time.Duration, what string, ok func() (bool, string)) {
	tb.Helper()
	deadline := time.Now().Add(within)
	for {
		done, why := ok()
		if done {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("not within %s: %s: %s", within, what, why)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
