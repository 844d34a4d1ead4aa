package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"dorisgo/groupcommit/wal"
)

func walCommand() *cobra.Command {
	c := &cobra.Command{Use: "wal", Short: "Look into write-ahead log files"}
	c.AddCommand(&cobra.Command{
		Use: "inspect FILE…", Short: "Print header, frames and records as docs/format/wal.md describes them", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			var errs []error
			for _, f := range files {
				if err := inspectWAL(cmd.OutOrStdout(), f); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", f, err))
				}
			}
			return errors.Join(errs...)
		},
	})
	return c
}

func inspectWAL(w io.Writer, path string) error {
	fmt.Fprintln(w, path)
	return wal.Inspect(w, vfs.Default, path)
}
