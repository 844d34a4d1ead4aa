package duck

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
)

// Options are the limits of one DB. They are fixed for its life.
type Options struct {
	// Dirs are the directories that SQL may read and WriteParquet may write,
	// absolute paths. Nothing else is reachable.
	Dirs []string
	// TempDir takes what does not fit into MemoryLimitBytes; an absolute path.
	// Empty: nothing is spilled and such a query fails.
	TempDir string
	// MemoryLimitBytes bounds DuckDB's buffers (they are outside GOMEMLIMIT).
	// 0 means 1 GiB.
	MemoryLimitBytes int64
	// Threads that one query may use at the same time; 0 means 2.
	Threads int
	// MaxConcurrent is how many queries may be open; later ones wait. 0 means 8.
	MaxConcurrent int
	// Logger hears of replaced instances; nil discards.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.MemoryLimitBytes <= 0 {
		o.MemoryLimitBytes = 1 << 30
	}
	if o.Threads <= 0 {
		o.Threads = 2
	}
	if o.MaxConcurrent <= 0 {
		o.MaxConcurrent = 8
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	for _, d := range append([]string{o.TempDir}, o.Dirs...) {
		if d != "" && !filepath.IsAbs(d) {
			return fmt.Errorf("duck: directory %q is not absolute", d)
		}
	}
	return nil
}

// settings are the statements that shut the doors of a new instance, in order:
// the last one locks all of them.
func (o Options) settings() []string {
	dirs := make([]string, 0, len(o.Dirs))
	for _, d := range o.Dirs {
		dirs = append(dirs, quoteString(filepath.Clean(d)+"/"))
	}
	return []string{
		"SET autoinstall_known_extensions=false",
		"SET autoload_known_extensions=false",
		"SET allow_community_extensions=false",
		"SET temp_directory=" + quoteString(o.TempDir),
		fmt.Sprintf("SET memory_limit='%dB'", o.MemoryLimitBytes),
		fmt.Sprintf("SET threads=%d", o.Threads),
		// Doris and MySQL: NULL is the smallest value.
		"SET default_null_order='NULLS_FIRST_ON_ASC_LAST_ON_DESC'",
		"SET preserve_insertion_order=true",
		// Files are immutable and the page cache has them already.
		"SET enable_external_file_cache=false",
		"SET allowed_directories=[" + strings.Join(dirs, ", ") + "]",
		"SET enable_external_access=false",
		"SET lock_configuration=true",
	}
}

// quoteString makes a SQL string literal.
func quoteString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// quoteIdent makes a SQL identifier.
func quoteIdent(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
