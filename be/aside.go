package be

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/groupcommit/wal"
)

// setAside are the transactions of WAL files that were set aside and may hold
// rows which are in no table: the FE must not take their groups for groups
// without a WAL (docs/protocol.md, H28).
func setAside(fsys vfs.FS, dirs []string) ([]int64, error) {
	var ids []int64
	for _, dir := range dirs {
		names, err := fsys.List(fsys.PathJoin(dir, "tmp"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if id, ok := asideTxn(name); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// asideTxn reads the name <db>_<table>_<version>_<backend>_<txn>_<label>.<unix
// seconds>.<reason> of a file that was set aside (docs/format/wal.md).
func asideTxn(name string) (int64, bool) {
	switch wal.Reason(name[strings.LastIndexByte(name, '.')+1:]) {
	case wal.Torn, wal.Erased, wal.Aborted:
		return 0, false // their rows are in the table, or were given up
	case wal.NoHeader:
		return 0, false // no row was ever acknowledged from it
	}
	parts := strings.SplitN(name, "_", 6)
	if len(parts) < 6 {
		return 0, false
	}
	id, err := strconv.ParseInt(parts[4], 10, 64)
	return id, err == nil && id > 0
}

// neverUsed says that a WAL file ends within its header. The header is durable
// before the first acknowledgement, so its group may be aborted like one that
// has no file.
func neverUsed(m *wal.Manager, path string) bool {
	r, _, err := m.OpenReader(path)
	if err == nil {
		// A failed close of a file that was only read loses nothing.
		_ = r.Close()
	}
	return errors.Is(err, wal.ErrNoHeader)
}
