package wal

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Inspect prints what a file holds in the terms of docs/format/wal.md, for
// people. It returns the error that ended the file, nil for a sound one; a torn
// tail and damage are also printed.
func Inspect(out io.Writer, fs vfs.FS, path string) error {
	r, h, err := OpenReader(fs, path)
	if err != nil {
		fmt.Fprintf(out, "%v\n", err)
		return err
	}
	defer r.Close()
	fmt.Fprintf(out, "wal file, format %d\n", h.Version)
	fmt.Fprintf(out, "  cluster %s meta_epoch %d\n", h.ClusterID, h.MetaEpoch)
	fmt.Fprintf(out, "  backend %d uuid %s\n", h.BackendID, h.BackendUUID)
	fmt.Fprintf(out, "  txn %d label %s owner_epoch %d\n", h.TxnID, h.Label, h.OwnerEpoch)
	fmt.Fprintf(out, "  db %d table %d table_epoch %d schema_version %d ordered %t\n", h.DBID, h.TableID, h.TableEpoch, h.SchemaVersion, h.Ordered)
	for _, c := range h.Columns {
		null := "NOT NULL"
		if c.Nullable {
			null = "NULL"
		}
		fmt.Fprintf(out, "  column %d %s %s %s\n", c.UniqueID, c.Name, c.Type, null)
	}
	for _, f := range h.Facts {
		fmt.Fprintf(out, "  fact %s=%q\n", f.Name, f.Value)
	}
	frame := 0
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			fmt.Fprintf(out, "end at %d\n", r.Offset())
			return nil
		}
		if err != nil {
			fmt.Fprintf(out, "%v\n", err)
			return err
		}
		if r.Frames() != frame {
			frame = r.Frames()
			fmt.Fprintf(out, "frame %d, ends at %d\n", frame, r.Offset())
		}
		fmt.Fprintf(out, "  record %x rows %d bytes %d\n", rec.RequestID, rec.Rows, len(rec.Encoded))
	}
}
