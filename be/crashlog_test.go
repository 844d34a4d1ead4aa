package be

import (
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// gateFS keeps CrashClone away from the two calls that take MemFS' clone lock
// twice, and would wait for ever if it came in between.
type gateFS struct {
	*vfs.MemFS
	gate *sync.RWMutex
}

// Lock implements vfs.FS.
func (g gateFS) Lock(name string) (io.Closer, error) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	return g.MemFS.Lock(name)
}

// ReuseForWrite implements vfs.FS.
func (g gateFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	return g.MemFS.ReuseForWrite(oldname, newname, c)
}

// recorder sees every file operation of a BE: it keeps a trace, and pictures of
// what a power failure before the operation would leave, together with what the
// FE had decided and what clients had heard at that moment.
type recorder struct {
	mem  *vfs.MemFS
	gate sync.RWMutex
	fe   *frontend

	mu       sync.Mutex
	rng      *rand.Rand
	acked    []ack
	pictures []picture
	trace    []string
}

// ack is a load that was answered with success.
type ack struct {
	load, rows int
	visible    bool
}

type picture struct {
	op      string
	percent int
	fs      *vfs.MemFS
	log     [][]byte
	acked   []ack
}

func newRecorder(f *frontend, seed uint64) *recorder {
	return &recorder{mem: vfs.NewCrashableMem(), fe: f, rng: rand.New(rand.NewPCG(seed, 1))}
}

// fs is the disk as a BE sees it.
func (r *recorder) fs() vfs.FS {
	return errorfs.Wrap(gateFS{r.mem, &r.gate}, errorfs.InjectorFunc(r.before))
}

// ack notes what a client heard.
func (r *recorder) ack(a ack) {
	r.mu.Lock()
	r.acked = append(r.acked, a)
	r.mu.Unlock()
}

func (r *recorder) before(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead || op.Kind == errorfs.OpFileClose || op.Kind == errorfs.OpFilePreallocate {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// What was acknowledged is older than the FE's log, and both are of one
	// moment with the disk: nothing is decided while it is cloned.
	acked := slices.Clone(r.acked)
	r.fe.mu.Lock()
	defer r.fe.mu.Unlock()
	r.gate.Lock()
	defer r.gate.Unlock()
	name := opNames[op.Kind] + " " + op.Path
	for _, percent := range []int{0, 1 + r.rng.IntN(99), 100} {
		r.pictures = append(r.pictures, picture{
			name, percent, r.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: r.rng}), slices.Clone(r.fe.log), acked,
		})
	}
	r.note(name)
	return nil
}

// phase writes a heading into the trace.
func (r *recorder) phase(format string, args ...any) {
	r.mu.Lock()
	r.trace = append(r.trace, "# "+fmt.Sprintf(format, args...))
	r.mu.Unlock()
}

var opNames = map[errorfs.OpKind]string{
	errorfs.OpCreate: "create", errorfs.OpLink: "link", errorfs.OpRemove: "remove", errorfs.OpRemoveAll: "remove-all",
	errorfs.OpRename: "rename", errorfs.OpReuseForWrite: "reuse", errorfs.OpMkdirAll: "mkdir", errorfs.OpLock: "lock",
	errorfs.OpFileWrite: "write", errorfs.OpFileWriteAt: "write", errorfs.OpFileSync: "sync", errorfs.OpFileSyncData: "sync",
	errorfs.OpFileSyncTo: "sync",
}

var (
	// pebbleOwn are files that Pebble keeps for itself; its log is not among
	// them, since our commits are in it.
	pebbleOwn = regexp.MustCompile(`/meta(/(MANIFEST|OPTIONS|marker|temporary|LOCK|\d+\.sst).*)?$|^remove .*\.log$`)
	// drawn are ids that are drawn anew each time.
	drawn = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16}`)
)

// note adds an operation to the trace; writes of one file that follow each
// other are one line.
func (r *recorder) note(line string) {
	if pebbleOwn.MatchString(line) {
		return
	}
	line = drawn.ReplaceAllString(line, "<id>")
	if n := len(r.trace); n > 0 && r.trace[n-1] == line && strings.HasPrefix(line, "write ") {
		return
	}
	r.trace = append(r.trace, line)
}
