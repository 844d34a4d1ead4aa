package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Root names a storage root.
type Root struct {
	// Path is an absolute directory that nothing else uses.
	Path string
}

// Options configure an Engine. A zero field takes the default.
type Options struct {
	// FS is the disk, by default the real one.
	FS    vfs.FS
	Roots []Root
	// Codec writes Parquet files. Required.
	Codec  Codec
	Logger *slog.Logger
	// Rand gives UUIDs and rowset ids, by default crypto/rand. It is read by
	// several goroutines at once.
	Rand io.Reader
	// Now is the wall clock, which ages replaced rowsets and trash.
	Now func() time.Time
	// Fatal is told that a root's Pebble met an I/O error, after which nothing
	// that it acknowledged later could be believed (docs/protocol.md, rule 7).
	// It is called for the last root in service, and for any during Open: with
	// others left the engine goes on without the root (see Run). The default writes
	// to standard error and ends the process with code 3. If Fatal returns, the root
	// stays out of service: each call that needs it fails.
	Fatal func(root, msg string)

	// InlineLimitBytes is the size from which a rowset becomes a Parquet file
	// at once; default 1 MiB.
	InlineLimitBytes int64
	// InlineBatchBytes bounds the inline rowsets of one call on one root: the
	// largest ones beyond it become files; default 16 MiB.
	InlineBatchBytes int64
	// MinFreeBytes is the floor of free space on a root: below it WritePending
	// is refused, and a quarter of it is kept even from replay, so that Pebble
	// never meets a full disk; default 1 GiB, negative for none.
	MinFreeBytes int64
	// BallastBytes is the size of each root's ballast file, space that is given up
	// when the root comes to its last: default 1 GiB and at most a hundredth of the
	// disk, negative for none. Without a floor there is none either.
	BallastBytes int64
	// FullPercent is storage_flood_stage_usage_percent: a root whose disk is used
	// to a higher share gets no new tablets while another one has room; default 90.
	FullPercent int
	// CacheBytes is Pebble's block cache, shared by the roots; default 32 MiB.
	CacheBytes int64
	// MemTableBytes is each root's memtable; default 8 MiB.
	MemTableBytes uint64

	// FlushRowsets and FlushBytes are how many inline rowsets, or bytes of
	// them, a tablet has before a flush makes a file; default 256 and 8 MiB.
	FlushRowsets int
	FlushBytes   int64
	// FlushMaxBytes bounds what one file is made from; default 64 MiB.
	FlushMaxBytes int64
	// CompactMinFiles is how many neighbouring files of about one size start a
	// compaction; default 5.
	CompactMinFiles int
	// CompactMaxBytes bounds what one compaction makes, in bytes of rows; files
	// of more than half of that are left alone; default 256 MiB.
	CompactMaxBytes int64
	// TimeSeries tells a partition's time-series policy, false if it is compacted
	// by size as the two options above say; nil for never. It may be asked often and
	// change its answers.
	TimeSeries func(partitionID int64) (TimeSeries, bool)
	// MaxVersions is max_tablet_version_num: how many rowsets a tablet may have
	// before writes to it are refused; default 2000.
	MaxVersions int
	// SyncInterval is how long a publish may wait for its fsync; default 200 ms.
	SyncInterval time.Duration
	// StaleSweep is tablet_rowset_stale_sweep_time_sec: how long replaced
	// rowsets stay readable; default 300 s, negative for not at all.
	StaleSweep time.Duration
	// TrashExpire is trash_file_expire_time_sec; default 3 days, negative for
	// at once.
	TrashExpire time.Duration
	// ScrubInterval is how often all data of a tablet are read and compared with
	// their checksums, one tablet at a time; default 7 days, negative for never.
	ScrubInterval time.Duration
	// KeepEntries is how many publish entries of a partition are kept for
	// comparison with repeated publishes; default 1024.
	KeepEntries int64
}

func (o Options) withDefaults() (Options, error) {
	if len(o.Roots) == 0 {
		return o, errors.New("cannot open storage: no storage root is given")
	}
	for i, r := range o.Roots {
		if r.Path == "" || slices.Contains(o.Roots[:i], r) {
			return o, fmt.Errorf("cannot open storage: root %q is empty or given twice", r.Path)
		}
	}
	if o.Codec == nil {
		return o, errors.New("cannot open storage: no codec is given")
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Fatal == nil {
		o.Fatal = func(root, msg string) {
			fmt.Fprintf(os.Stderr, "FATAL: storage root %s: %s\n", root, msg)
			os.Exit(3)
		}
	}
	setDefault(&o.InlineLimitBytes, 1<<20)
	setDefault(&o.InlineBatchBytes, 16<<20)
	setDefault(&o.MinFreeBytes, 1<<30)
	setDefault(&o.FullPercent, 90)
	setDefault(&o.CacheBytes, 32<<20)
	setDefault(&o.MemTableBytes, 8<<20)
	setDefault(&o.FlushRowsets, 256)
	setDefault(&o.FlushBytes, 8<<20)
	setDefault(&o.FlushMaxBytes, 64<<20)
	setDefault(&o.CompactMinFiles, 5)
	setDefault(&o.CompactMaxBytes, 256<<20)
	setDefault(&o.MaxVersions, 2000)
	setDefault(&o.SyncInterval, 200*time.Millisecond)
	setDefault(&o.StaleSweep, 300*time.Second)
	setDefault(&o.TrashExpire, 3*24*time.Hour)
	setDefault(&o.ScrubInterval, 7*24*time.Hour)
	setDefault(&o.KeepEntries, 1024)
	return o, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
