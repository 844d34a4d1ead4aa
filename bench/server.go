package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Server is a dorisgo of one or more processes that a measurement started
// itself, on loopback, with data in a directory of its own.
type Server struct {
	Target Target
	dir    string
	procs  []*process
}

const (
	startTimeout = 60 * time.Second
	endTimeout   = 45 * time.Second
)

// StartStandalone starts FE and BE in one process. sets are key=value.
func StartStandalone(ctx context.Context, binary string, sets []string) (*Server, error) {
	return startServer(binary, "standalone", func(s *Server) error {
		p, err := s.start(ctx, binary, "standalone", append([]string{
			"standalone", "--data-dir", filepath.Join(s.dir, "data"), "--mysql-port", "0", "--fe-http-port", "0", "--be-http-port", "0",
		}, setFlags(sets)...))
		if err != nil {
			return err
		}
		s.Target.Login.Addr = loopback(p.ready["mysql"])
		s.Target.HTTP = loopback(p.ready["be_http"])
		return nil
	})
}

// StartCluster starts one FE and some BEs, each as a process. Keys of sets go to
// the role that they are prefixed with: fe:key=value, be:key=value.
func StartCluster(ctx context.Context, binary string, backends int, sets []string) (*Server, error) {
	name := "FE + BE"
	if backends > 1 {
		name = fmt.Sprintf("FE + %d BEs", backends)
	}
	return startServer(binary, name, func(s *Server) error {
		common := []string{"listen_host=127.0.0.1", "advertise_host=127.0.0.1"}
		fe, err := s.start(ctx, binary, "fe", append([]string{"fe", "start"}, setFlags(append(append([]string{
			"query_port=0", "http_port=0", "rpc_port=0", "edit_log_port=0", "fe_gossip_port=0", "meta_dir=" + filepath.Join(s.dir, "meta"),
		}, common...), of("fe:", sets)...))...))
		if err != nil {
			return err
		}
		s.Target.Login.Addr = loopback(fe.ready["mysql"])
		for i := range backends {
			// No two BEs of a host have the same heartbeat port.
			node := "be"
			if i > 0 {
				node = fmt.Sprint("be", i+1)
			}
			be, err := s.start(ctx, binary, node, append([]string{"be", "start"}, setFlags(append(append([]string{
				"webserver_port=0", "be_port=0", "be_gossip_port=0", fmt.Sprintf("heartbeat_service_port=%d", 9050+i),
				"storage_root_path=" + filepath.Join(s.dir, fmt.Sprint("storage", i+1)),
				"frontends=" + loopback(fe.ready["rpc"]), "gossip_seeds=" + loopback(fe.ready["gossip"]),
			}, common...), of("be:", sets)...))...))
			if err != nil {
				return err
			}
			s.Target.HTTP = loopback(be.ready["http"])
		}
		return nil
	})
}

func startServer(binary, name string, start func(*Server) error) (*Server, error) {
	dir, err := os.MkdirTemp("", "dorisgo-bench-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, Target: Target{Name: name, Doris: true, Login: Login{User: "root"}}}
	if err := start(s); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start %s as %s: %w", binary, name, err), s.Stop())
	}
	for _, p := range s.procs {
		s.Target.PIDs = append(s.Target.PIDs, p.cmd.Process.Pid)
	}
	return s, nil
}

// Stop ends the processes, the last started first, and removes the data.
func (s *Server) Stop() error {
	var errs []error
	for i := len(s.procs) - 1; i >= 0; i-- {
		errs = append(errs, s.procs[i].stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

func loopback(port string) string { return net.JoinHostPort("127.0.0.1", port) }

func setFlags(sets []string) []string {
	var flags []string
	for _, s := range sets {
		flags = append(flags, "--set", s)
	}
	return flags
}

func of(role string, sets []string) []string {
	var mine []string
	for _, s := range sets {
		if key, ok := strings.CutPrefix(s, role); ok {
			mine = append(mine, key)
		}
	}
	return mine
}

// process is a child that has printed its line `ready key=value …`.
type process struct {
	name   string
	cmd    *exec.Cmd
	ready  map[string]string
	exited chan error
}

func (s *Server) start(ctx context.Context, binary, name string, args []string) (*process, error) {
	logFile := filepath.Join(s.dir, name+".log")
	logs, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	defer logs.Close()
	// Not CommandContext: it kills, and a server is to stop in order.
	cmd := exec.Command(binary, args...) //nolint:noctx // stopped by Stop
	cmd.Stderr = logs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{name: name, cmd: cmd, exited: make(chan error, 1)}
	s.procs = append(s.procs, p)
	ready := make(chan map[string]string, 1)
	go func() {
		r := bufio.NewScanner(out)
		for r.Scan() {
			if line, ok := strings.CutPrefix(r.Text(), "ready "); ok {
				ready <- fields(line)
				break
			}
		}
		_, _ = io.Copy(io.Discard, out)
		p.exited <- cmd.Wait()
	}()
	select {
	case p.ready = <-ready:
		return p, nil
	case err := <-p.exited:
		p.exited <- err
		return nil, fmt.Errorf("%s ended (%w): %s", name, err, tail(logFile))
	case <-time.After(startTimeout):
		return nil, fmt.Errorf("%s is not ready after %s: %s", name, startTimeout, tail(logFile))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func fields(line string) map[string]string {
	m := map[string]string{}
	for f := range strings.FieldsSeq(line) {
		k, v, _ := strings.Cut(f, "=")
		m[k] = v
	}
	return m
}

// tail is the end of a log file.
func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b[max(0, len(b)-2000):]))
}

// stop asks the process to end, and kills it if it does not.
func (p *process) stop() error {
	// An error means that it has ended: Wait says how.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.exited:
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		return nil
	case <-time.After(endTimeout):
		_ = p.cmd.Process.Kill()
		return fmt.Errorf("%s did not end in %s and was killed: %w", p.name, endTimeout, <-p.exited)
	}
}
