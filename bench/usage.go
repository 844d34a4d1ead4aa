package bench

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// usage is CPU time: on a shared machine it tells more of a server's work than
// the clock does.
type usage struct {
	pids []int
	// client and server are this process's and the server's.
	client, server time.Duration
	known          bool // all of the server's processes could be read
}

func usageOf(pids []int) *usage { return &usage{pids: pids} }

// during returns what was used between two times.
func (u *usage) during(ctx context.Context, from, until time.Time) *usage {
	if sleep(ctx, time.Until(from)) != nil {
		return u
	}
	c0, s0, ok0 := u.read()
	if sleep(ctx, time.Until(until)) != nil {
		return u
	}
	c1, s1, ok1 := u.read()
	return &usage{pids: u.pids, client: c1 - c0, server: s1 - s0, known: ok0 && ok1}
}

func (u *usage) read() (client, server time.Duration, known bool) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err == nil {
		client = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	known = len(u.pids) > 0
	for _, pid := range u.pids {
		d, err := cpuOf(pid)
		server += d
		known = known && err == nil
	}
	return client, server, known
}

// cpuOf reads a process's CPU time from /proc; the kernel counts in 10 ms.
func cpuOf(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, in brackets, may contain blanks; utime and stime are fields 14
	// and 15 of the line, 12 and 13 behind it.
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(f))
	}
	var user, system int64
	if _, err := fmt.Sscan(f[11], &user); err != nil {
		return 0, err
	}
	if _, err := fmt.Sscan(f[12], &system); err != nil {
		return 0, err
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}
