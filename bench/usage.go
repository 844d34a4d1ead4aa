package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
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
	// busy is what all processes used, and what the host took away.
	busy  time.Duration
	clock time.Duration
	known bool // all of the server's processes could be read
}

func usageOf(pids []int) *usage { return &usage{pids: pids} }

// during returns what was used between two times.
func (u *usage) during(ctx context.Context, from, until time.Time) *usage {
	if sleep(ctx, time.Until(from)) != nil {
		return u
	}
	start := time.Now()
	c0, s0, ok0 := u.read()
	b0 := busy()
	if sleep(ctx, time.Until(until)) != nil {
		return u
	}
	c1, s1, ok1 := u.read()
	return &usage{
		pids: u.pids, client: c1 - c0, server: s1 - s0, known: ok0 && ok1, busy: busy() - b0, clock: time.Since(start),
	}
}

// others is the share of the machine that neither client nor server used.
func (u *usage) others() float64 {
	if !u.known || u.clock == 0 {
		return 0
	}
	return max(0, float64(u.busy-u.client-u.server)/float64(u.clock)/float64(runtime.NumCPU()))
}

// tick is the unit of CPU times in /proc.
const tick = 10 * time.Millisecond

// busy reads the CPU time of the whole machine that was not idle; 0 if it is
// not to be had.
func busy() time.Duration {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	var sum time.Duration
	// user, nice, system, idle, iowait, irq, softirq, steal
	for i, f := range strings.Fields(strings.TrimPrefix(line, "cpu")) {
		n, err := strconv.ParseInt(f, 10, 64)
		if err == nil && i < 8 && i != 3 && i != 4 {
			sum += time.Duration(n) * tick
		}
	}
	return sum
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

// cpuOf reads a process's CPU time from /proc.
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
	return time.Duration(user+system) * tick, nil
}
