package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
)

// rootForTablet picks the root of a new tablet: of those that have room the one
// with the fewest tablets, and if none has room the one with most free space.
func (e *Engine) rootForTablet() (*root, error) {
	var best *root
	var bestFree uint64
	bestRoomy := false
	for _, r := range e.roots {
		if r.err() != nil {
			continue
		}
		free, roomy := e.room(r)
		better := best == nil || roomy && !bestRoomy
		if best != nil && roomy == bestRoomy {
			better = roomy && r.tablets.Load() < best.tablets.Load() || !roomy && free > bestFree
		}
		if better {
			best, bestFree, bestRoomy = r, free, roomy
		}
	}
	if best == nil {
		return nil, e.rootsErr()
	}
	return best, nil
}

// room is a root's free space in bytes, and whether new tablets may go there. A
// disk that cannot tell has room.
func (e *Engine) room(r *root) (free uint64, roomy bool) {
	usage, err := r.fs.GetDiskUsage(r.path)
	if err != nil {
		return 0, errors.Is(err, vfs.ErrUnsupported)
	}
	floor := uint64(max(e.opts.MinFreeBytes, 0))
	full := usage.TotalBytes > 0 && (usage.TotalBytes-min(usage.AvailBytes, usage.TotalBytes))*100 > usage.TotalBytes*uint64(e.opts.FullPercent)
	return usage.AvailBytes, usage.AvailBytes >= floor && !full
}

// checkSpace refuses to add bytes to a root if that would take its free space
// below the floor. reserve allows three quarters of what lies below: commits of
// acknowledged rows, which free more than they take (docs/protocol.md, H41).
func (e *Engine) checkSpace(r *root, bytes int64, reserve bool) error {
	if e.opts.MinFreeBytes < 0 {
		return nil
	}
	for {
		// The space that a ballast left behind is not for new rows.
		floor := e.opts.MinFreeBytes + r.ballast.owed()
		if reserve {
			floor = e.opts.MinFreeBytes / 4
		}
		usage, err := r.fs.GetDiskUsage(r.path)
		if errors.Is(err, vfs.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot ask for the free space of storage root %s: %w", r.path, err)
		}
		if usage.AvailBytes >= uint64(floor)+uint64(bytes) {
			return nil
		}
		if reserve && r.ballast.held.Load() > 0 {
			r.dropBallast(fmt.Sprintf("%d MB are free, and acknowledged rows or a compaction need %d MB", usage.AvailBytes>>20, (floor+bytes)>>20))
			continue
		}
		r.ballast.refused.Add(1)
		return doriserr.New(doriserr.ExceededLimit,
			"disk %s exceed capacity limit, path: %s: it has %d MB free, and %d MB must stay free; free disk space or add a storage root, then try again",
			r.id.uuid, r.path, usage.AvailBytes>>20, floor>>20)
	}
}
