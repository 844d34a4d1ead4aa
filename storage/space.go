package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
)

// checkSpace refuses to add bytes to a root if that would take its free space
// below the floor. reserve allows three quarters of what lies below: commits of
// acknowledged rows, which free more than they take (docs/protocol.md, H41).
func (e *Engine) checkSpace(r *root, bytes int64, reserve bool) error {
	floor := e.opts.MinFreeBytes
	if floor < 0 {
		return nil
	}
	if reserve {
		floor /= 4
	}
	usage, err := r.fs.GetDiskUsage(r.path)
	if errors.Is(err, vfs.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot ask for the free space of storage root %s: %w", r.path, err)
	}
	if usage.AvailBytes < uint64(floor)+uint64(bytes) {
		return doriserr.New(doriserr.ExceededLimit,
			"storage root %s has %d MB free, and %d MB must stay free: free disk space or add a storage root, then try again",
			r.path, usage.AvailBytes>>20, floor>>20)
	}
	return nil
}
