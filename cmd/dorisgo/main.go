// Command dorisgo is the whole product: a frontend, a backend, both in one
// process, and the tools beside them.
//
// Exit codes: 0 success; 1 the command failed; 2 wrong usage or configuration;
// 3 the disk or the metadata became unfit to go on; 4 the command did a part.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"dorisgo/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := root().ExecuteContext(ctx)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	stop()
	os.Exit(exitCode(err)) //nolint:gocritic // stop was called
}

// usageError is a mistake in flags or configuration.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// unfitError is a failure after which a node must not go on.
type unfitError struct{ error }

func (e unfitError) Unwrap() error { return e.error }

func exitCode(err error) int {
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	if _, ok := errors.AsType[unfitError](err); ok {
		return 3
	}
	if _, ok := errors.AsType[partialError](err); ok {
		return 4
	}
	return 1
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:           "dorisgo",
		Short:         "An ingestion database for many small writes, with Apache Doris' interfaces",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	c.AddCommand(versionCommand(), standaloneCommand(), feCommand(), beCommand(), sqlCommand(), loadCommand(), walCommand(), benchCommand())
	return c
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), "dorisgo", version.Version) },
	}
}
