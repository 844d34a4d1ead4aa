package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLoadCommandFlags: exit codes, ways to give the password, and silence without
// a terminal.
func TestLoadCommandFlags(t *testing.T) {
	a := startAlone(t)
	s := connect(t, a.address(""))
	s.run("CREATE DATABASE bulk")
	s.run("CREATE TABLE bulk.t (id INT NOT NULL, note STRING) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1")
	s.run(`CREATE USER loader IDENTIFIED BY 'p@:?"#'`)
	s.run("GRANT LOAD_PRIV ON *.*.* TO loader")
	const password = `p@:?"#`
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		writeFile(t, path, []byte(text))
		return path
	}
	good, bad := write("good.csv", "1,a\n2,b\n"), write("bad.csv", "3,c\n"+strings.Repeat("x,d\n", 10)+"4,e\n")
	secret := write("secret", password+"\r\nsecond line\n")
	base := []string{"--url", fmt.Sprintf("127.0.0.1:%d", a.feHTTP), "--db", "bulk", "--table", "t", "--header", "column_separator:,"}
	login := []string{"--u", "loader", "--password_file", secret}
	for _, tt := range []struct {
		name      string
		env       string
		args      []string
		code      int
		out, errs string
	}{
		{"a password file", "", append(login, good), 0, "Success: 2 rows loaded", ""},
		{"again", "", append(login, good), 0, "1 already loaded before (8 bytes)", ""},
		{"the environment, another label, a list", password, []string{"-u", "loader", "--label", "l2", "--source_file", good + ",", "--batch", "5", "--batch_byte=7", "--auto_retry", "1,2"}, 0, "Success: 2 rows loaded", ""},
		{"the flag, the label as a header", "", []string{"-u", "loader", "-p", password, "--header", "label:l3?timeout:60", good}, 0, "Success: 2 rows loaded", ""},
		{"no password", "", []string{"-u", "loader", good}, 1, "Failed: 0 rows loaded", "nothing is loaded"},
		{"bad rows", "", append(login, "--max_byte_per_task", "4", "-H", "strict_mode: true", good, bad, "--label", "l4"), 4, "too many filtered rows", "a part is not loaded"},
		{"bad rows, tolerated", "", append(login, "--max_byte_per_task", "4", "-H", "max_filter_ratio: 1", bad, "--label", "l4"), 0, "10 filtered", ""},
		{"no file", "", append(login, filepath.Join(dir, "nothing")), 2, "", "cannot load"},
		{"no such flag", "", append(login, "--colour"), 2, "", "unknown flag"},
		{"a bad header", "", append(login, "--header", "where:a?b", good), 2, "", "a value with ? in it can be given by -H"},
		{"group commit", "", append(login, "-H", "group_commit: async_mode", good), 2, "", "group_commit: async_mode cannot be used"},
		{"a bad number", "", append(login, "--workers", "-1", good), 2, "", "cannot be negative"},
		{"no terminal to ask on", "", []string{"-W", good}, 2, "", "needs a terminal"},
	} {
		cmd := exec.Command(binary, append(append([]string{"load"}, base...), tt.args...)...)
		cmd.Env = append(os.Environ(), "DORISGO_PASSWORD="+tt.env)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // the exit code says it
		if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errs.String(), tt.errs) || tt.errs == "" && errs.Len() > 0 {
			t.Errorf("%s: exit code %d\n%s\n%s\nwant %d, %q, %q", tt.name, code, out.String(), errs.String(), tt.code, tt.out, tt.errs)
		}
	}
	if n := s.value("SELECT count(*) FROM bulk.t"); n != "10" {
		t.Errorf("%s rows, want 10", n)
	}
}

// TestLoadCommandOnATerminal: the password is asked for without an echo while the
// rows come from standard input, and a bar is drawn.
func TestLoadCommandOnATerminal(t *testing.T) {
	a := startAlone(t)
	s := connect(t, a.address(""))
	s.run("CREATE DATABASE bulk")
	s.run("CREATE TABLE bulk.t (id INT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1")
	s.run("CREATE USER loader IDENTIFIED BY 'a typed secret'")
	s.run("GRANT LOAD_PRIV ON *.*.* TO loader")
	ptm, pts := openTerminal(t)
	cmd := exec.Command(binary, "load", "--url", fmt.Sprintf("127.0.0.1:%d", a.feHTTP), "--db", "bulk", "--table", "t", "-u", "loader", "-W", "-")
	rows, w := io.Pipe()
	cmd.Stdin, cmd.Stderr = rows, pts
	var out bytes.Buffer
	cmd.Stdout = &out
	// The terminal is descriptor 2 of the child.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pts.Close()
	seen, drawn := make(chan string, 1), make(chan struct{})
	go func() {
		var text strings.Builder
		buf := make([]byte, 4096)
		asked, bar := false, false
		for {
			n, err := ptm.Read(buf)
			text.Write(buf[:n])
			if !asked && strings.Contains(text.String(), "Password of loader: ") {
				asked = true
				awaitNoEcho(t, ptm)
				_, _ = io.WriteString(ptm, "a typed secret\n") // what follows shows whether it came
			}
			if !bar && (strings.Contains(text.String(), "loading") || strings.Contains(text.String(), "rows/s")) {
				bar = true
				close(drawn)
			}
			if err != nil {
				seen <- text.String()
				return
			}
		}
	}()
	go func() {
		for i := range 20 {
			fmt.Fprintf(w, "%d\n", i)
		}
		select {
		case <-drawn:
		case <-time.After(statementTime):
		}
		w.Close()
	}()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s\n%s", err, out.String())
	}
	screen := <-seen
	select {
	case <-drawn:
	default:
		t.Error("no bar was drawn")
	}
	if strings.Contains(screen, "secret") {
		t.Errorf("the terminal shows %q", screen)
	}
	if !strings.Contains(out.String(), "Success: 20 rows loaded") || s.value("SELECT count(*) FROM bulk.t") != "20" {
		t.Errorf("%s", out.String())
	}
}

// awaitNoEcho waits until a terminal shows nothing of what is typed.
func awaitNoEcho(tb testing.TB, ptm *os.File) {
	tb.Helper()
	for end := time.Now().Add(statementTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if t, err := unix.IoctlGetTermios(int(ptm.Fd()), unix.TCGETS); err == nil && t.Lflag&unix.ECHO == 0 {
			return
		}
	}
	tb.Error("the terminal echoes while the password is asked for")
}

// openTerminal makes a pseudo terminal: what drives it, and the terminal itself.
func openTerminal(tb testing.TB) (ptm, pts *os.File) {
	tb.Helper()
	ptm, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { ptm.Close() })
	n, err := unix.IoctlGetInt(int(ptm.Fd()), unix.TIOCGPTN)
	if err != nil {
		tb.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(ptm.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		tb.Fatal(err)
	}
	if pts, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		tb.Fatal(err)
	}
	return ptm, pts
}
