package wal

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// lookEvery is how long a look at the disk's free space serves.
const lookEvery = 100 * time.Millisecond

// limit is group_commit_wal_max_disk_limit.
type limit struct {
	bytes   int64 // when percent is 0
	percent float64
}

func parseLimit(s string) (limit, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		s = "10%"
	}
	if digits, ok := strings.CutSuffix(s, "%"); ok {
		if p, err := strconv.ParseFloat(digits, 64); err == nil && p > 0 && p <= 100 {
			return limit{percent: p}, nil
		}
	} else if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 {
		return limit{bytes: n}, nil
	}
	return limit{}, errors.New("group_commit_wal_max_disk_limit config is wrong, please check your config!")
}

// DirSpace is the account of one directory, in bytes.
type DirSpace struct {
	Path                   string
	Limit, Used, Available int64
}

// String is the form that messages to clients use.
func (s DirSpace) String() string {
	return fmt.Sprintf("[%s: limit %d Bytes, used %d Bytes, estimated wal bytes 0 Bytes, available %d Bytes.];", s.Path, s.Limit, s.Used, s.Available)
}

// Space is the account of every directory.
func (m *Manager) Space() []DirSpace {
	out := make([]DirSpace, len(m.dirs))
	for i, d := range m.dirs {
		out[i] = d.space()
	}
	return out
}

// Available is the room in the directory that has most, in bytes. It is cheap
// enough to be asked for each load.
func (m *Manager) Available() int64 {
	var most int64
	for _, d := range m.dirs {
		most = max(most, d.available())
	}
	return most
}

// byRoom is the order in which Create tries the directories: those with more
// than a fifth of their limit free in rotation, then the others by room.
func (m *Manager) byRoom() []*dir {
	if len(m.dirs) == 1 {
		return m.dirs
	}
	var roomy, tight []*dir
	for _, d := range m.dirs {
		if s := d.space(); s.Available > s.Limit/5 {
			roomy = append(roomy, d)
		} else {
			tight = append(tight, d)
		}
	}
	if len(roomy) > 0 {
		k := int(m.turn.Add(1) % uint64(len(roomy)))
		roomy = slices.Concat(roomy[k:], roomy[:k])
	}
	slices.SortStableFunc(tight, func(a, b *dir) int { return int(min(max(b.available()-a.available(), -1), 1)) })
	return append(roomy, tight...)
}

// dirOf is the directory that path lies in, by the last three components.
func (m *Manager) dirOf(path string) *dir {
	root := m.fs.PathDir(m.fs.PathDir(m.fs.PathDir(path)))
	for _, d := range m.dirs {
		if d.path == root {
			return d
		}
	}
	return nil
}

func (d *dir) String() string { return d.space().String() }

func (d *dir) space() DirSpace {
	available := d.available()
	return DirSpace{Path: d.path, Limit: d.room.Load(), Used: d.used.Load(), Available: available}
}

// fits says whether n more bytes are within the limit. Callers add to used at
// once, so bytes that are not yet written are already reserved.
func (d *dir) fits(n int64) bool { return n <= d.available() }

func (d *dir) available() int64 {
	if now := time.Now().UnixNano(); now >= d.due.Load() && d.look.TryLock() {
		d.lookAtDisk()
		d.due.Store(now + int64(lookEvery))
		d.look.Unlock()
	}
	return max(0, d.room.Load()-d.used.Load())
}

// lookAtDisk finds how large the files may be in all: the limit, and not more
// than what they are plus what is free. The percentage is of what would be free
// without us, so that it does not shrink as we write.
func (d *dir) lookAtDisk() {
	used := d.used.Load()
	usage, err := d.fs.GetDiskUsage(d.path)
	if err != nil {
		// Some file systems cannot say; a write that fails is handled anyway.
		room := d.limit.bytes
		if room == 0 {
			room = math.MaxInt64 / 2
		}
		if !errors.Is(err, vfs.ErrUnsupported) && d.room.Load() > 0 {
			room = d.room.Load()
		}
		d.room.Store(room)
		return
	}
	total := used + int64(min(usage.AvailBytes, math.MaxInt64/4))
	room := d.limit.bytes
	if d.limit.percent > 0 {
		room = int64(float64(total) * d.limit.percent / 100)
	}
	d.room.Store(min(room, total))
}
