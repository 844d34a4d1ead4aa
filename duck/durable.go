package duck

import (
	"fmt"
	"os"
)

// fileOps are the calls that make a file durable: DuckDB itself neither fsyncs
// nor renames. Tests record them and let them fail.
type fileOps struct {
	// sync fsyncs a file or directory and returns its size.
	sync   func(path string) (int64, error)
	rename func(from, to string) error
}

var realFiles = fileOps{sync: syncFile, rename: os.Rename}

func syncFile(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("cannot open for fsync: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return 0, fmt.Errorf("cannot fsync %q: %w", path, err)
	}
	st, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("cannot stat %q: %w", path, err)
	}
	return st.Size(), nil
}
