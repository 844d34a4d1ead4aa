package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"dorisgo/client/bulkload"
	"dorisgo/client/streamload"
)

// loadFlags are named as doris-streamloader names them; what it has no name for
// follows the same form.
type loadFlags struct {
	sources, urls          []string
	db, table              string
	user, password         string
	passwordFile           string
	ask                    bool
	header                 []string
	curlHeaders            []string
	label                  string
	compress, checkUTF8    bool
	timeout, workers       int
	maxBytes               int64
	retries, retryInterval int
	reportEvery            int
	output                 string
	quiet                  bool
	debug                  bool
}

// partialError: some of it was done. Exit code 4.
type partialError struct{ error }

func (e partialError) Unwrap() error { return e.error }

const loadLong = `Load files, directories or standard input by Stream Load, in parallel and in chunks.

Each chunk has a label made of the prefix, a hash of its bytes and its offset, and
the server takes a label once. So the same command run again, after an error, a
crash or on another machine, loads what is missing and nothing twice, as long as
the server remembers the labels (streaming_label_keep_max_second,
label_num_threshold). Run it with the same --max_byte_per_task and the same
format, separators and skip_lines, since they decide where chunks are cut. To load
the same bytes once more, give another --label.

Exit codes: 0 all is loaded; 1 nothing is loaded; 2 wrong usage; 4 some chunks are
loaded and others are not.`

func loadCommand() *cobra.Command {
	var f loadFlags
	c := &cobra.Command{
		Use: "load [FILE…]", Short: "Load files of any size by Stream Load, resumable and in parallel", Long: loadLong,
		Example: `  dorisgo load --source_file 'data/*.csv' --url 127.0.0.1:8030 --db db --table t --header 'column_separator:,'
  zcat big.gz | dorisgo load --db db --table t -H 'format: json' --label big_2026 -
  dorisgo load --url fe-0:8030,fe-1:8030 --db db --table t --password_file secret --output json data/`,
		RunE: func(cmd *cobra.Command, args []string) error { return runLoad(cmd, &f, args) },
	}
	p := c.Flags()
	p.StringArrayVar(&f.sources, "source_file", nil, "files, globs, directories, or - for standard input, separated by commas; may be repeated, or given as arguments")
	p.StringSliceVar(&f.urls, "url", []string{"http://127.0.0.1:8030"}, "HTTP addresses of frontends, a list: the next is tried when one does not answer")
	p.StringVar(&f.db, "db", "", "database")
	p.StringVar(&f.table, "table", "", "table")
	p.StringVarP(&f.user, "u", "u", "root", "user")
	p.StringVarP(&f.password, "p", "p", "", "password; others on this machine can see it here, so better one of the next three")
	p.StringVar(&f.passwordFile, "password_file", "", "file whose first line is the password")
	p.BoolVarP(&f.ask, "ask_password", "W", false, "ask for the password on the terminal; without any of these flags it is the environment variable DORISGO_PASSWORD")
	p.StringArrayVar(&f.header, "header", nil, "Stream Load headers as name:value?name:value; may be repeated; label is taken for --label")
	p.StringArrayVarP(&f.curlHeaders, "request_header", "H", nil, "one Stream Load header as name: value, in which ? is nothing special; may be repeated")
	p.StringVar(&f.label, "label", "dorisgo_load", "prefix of all labels")
	p.BoolVar(&f.compress, "compress", false, "send bodies as LZ4")
	p.IntVar(&f.timeout, "timeout", 36000, "bound of one request, and of the wait for an earlier one under the same label, in seconds")
	p.Int64Var(&f.maxBytes, "max_byte_per_task", bulkload.DefaultChunkBytes, "a chunk ends at the first row that ends at so many bytes or more")
	p.IntVar(&f.workers, "workers", 0, "chunks that are sent at a time; 0 is a number that fits the processors; 1 keeps the order of rows")
	p.BoolVar(&f.checkUTF8, "check_utf8", true, "refuse chunks that are not UTF-8, before they are sent")
	p.IntVar(&f.retries, "auto_retry_times", 8, "how often a chunk is sent again when nothing else helps")
	p.IntVar(&f.retryInterval, "auto_retry_interval", 60, "longest pause before that, in seconds; the first is one second, each later one twice as long")
	p.IntVar(&f.reportEvery, "report_duration", 1, "seconds between two states of the progress bar's rates")
	p.StringVarP(&f.output, "output", "o", "text", "report as text or json, on standard output")
	p.BoolVarP(&f.quiet, "quiet", "q", false, "neither progress nor notes on standard error")
	p.BoolVar(&f.debug, "debug", false, "a line on standard error for each chunk's file, place and label")
	// Flags of doris-streamloader that tune what does not exist here.
	for _, name := range []string{"batch", "batch_byte", "disk_throughput", "streamload_throughput", "queue_size"} {
		p.Int(name, 0, "no effect: chunks stream from the file")
		_ = p.MarkHidden(name) // only an unknown name is refused
	}
	p.String("auto_retry", "", "no effect: labels tell what is missing")
	_ = p.MarkHidden("auto_retry")
	return c
}

func runLoad(cmd *cobra.Command, f *loadFlags, args []string) error {
	o, err := f.options()
	if err != nil {
		return usageError{err}
	}
	sources, err := bulkload.Expand(append(f.sources, args...), cmd.InOrStdin(), o.Headers["compress_type"] == "")
	if err != nil {
		return usageError{err}
	}
	password, err := f.secret()
	if err != nil {
		return usageError{err}
	}
	client, err := streamload.New(streamload.Options{Endpoints: f.urls, User: f.user, Password: password, DB: f.db, Table: f.table, Connections: o.Workers})
	if err != nil {
		return usageError{err}
	}
	defer client.Close()
	o.Server = client
	bar := f.progress(cmd.ErrOrStderr(), sources)
	o.Events = bar.events()
	r, err := bulkload.Run(cmd.Context(), sources, o)
	bar.close()
	if err != nil {
		return usageError{err}
	}
	write := r.WriteText
	if f.output == "json" {
		write = r.WriteJSON
	}
	if err := write(cmd.OutOrStdout()); err != nil {
		return err
	}
	switch r.Status {
	case bulkload.Success:
		return nil
	case bulkload.Partial:
		return partialError{errors.New("a part is not loaded, see the report")}
	}
	return errors.New("nothing is loaded, see the report")
}

// options checks the flags.
func (f *loadFlags) options() (bulkload.Options, error) {
	o := bulkload.Options{
		Table: f.db + "." + f.table, Headers: map[string]string{}, Prefix: f.label, ChunkBytes: f.maxBytes, Workers: f.workers,
		Compress: f.compress, CheckUTF8: f.checkUTF8, Timeout: time.Duration(f.timeout) * time.Second,
		Retries: f.retries, RetryPause: time.Duration(f.retryInterval) * time.Second,
	}
	switch {
	case f.db == "" || f.table == "":
		return o, errors.New("--db and --table are needed")
	case f.timeout < 1 || f.maxBytes < 1 || f.reportEvery < 1:
		return o, errors.New("--timeout, --max_byte_per_task and --report_duration have to be positive")
	case f.workers < 0 || f.retries < 0 || f.retryInterval < 0:
		return o, errors.New("--workers, --auto_retry_times and --auto_retry_interval cannot be negative")
	case f.output != "text" && f.output != "json":
		return o, fmt.Errorf("--output %s: choose text or json", f.output)
	}
	if o.Workers == 0 {
		o.Workers = min(8, max(2, runtime.GOMAXPROCS(0)))
	}
	set := func(text string) error {
		name, value, ok := strings.Cut(text, ":")
		if name = strings.ToLower(strings.TrimSpace(name)); !ok || name == "" {
			return fmt.Errorf("the header %q is not of the form name:value", text)
		}
		if name == "label" {
			o.Prefix = strings.TrimSpace(value)
			return nil
		}
		o.Headers[name] = strings.Trim(value, " ")
		return nil
	}
	for _, h := range f.header {
		for one := range strings.SplitSeq(h, "?") {
			if one == "" {
				continue
			}
			if err := set(one); err != nil {
				return o, fmt.Errorf("%w; a value with ? in it can be given by -H", err)
			}
		}
	}
	for _, h := range f.curlHeaders {
		if err := set(h); err != nil {
			return o, err
		}
	}
	return o, nil
}

// secret is the password: the flag's, the file's, what is typed, or the
// environment's.
func (f *loadFlags) secret() (string, error) {
	switch {
	case f.password != "":
		return f.password, nil
	case f.passwordFile != "":
		b, err := os.ReadFile(f.passwordFile)
		if err != nil {
			return "", fmt.Errorf("--password_file: %w", err)
		}
		line, _, _ := strings.Cut(string(b), "\n")
		return strings.TrimSuffix(line, "\r"), nil
	case f.ask:
		return askPassword(f.user)
	}
	return os.Getenv("DORISGO_PASSWORD"), nil
}

// askPassword asks on the terminal itself: standard input may be what is loaded.
func askPassword(user string) (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return "", fmt.Errorf("--ask_password needs a terminal: %w", err)
	}
	defer tty.Close()
	fmt.Fprintf(tty, "Password of %s: ", user)
	b, err := term.ReadPassword(int(tty.Fd()))
	fmt.Fprintln(tty)
	if err != nil {
		return "", fmt.Errorf("cannot read the password: %w", err)
	}
	return string(b), nil
}

// progress chooses what is told on the way.
func (f *loadFlags) progress(w io.Writer, sources []*bulkload.Source) *loadProgress {
	p := &loadProgress{w: w, quiet: f.quiet, debug: f.debug, every: time.Duration(f.reportEvery) * time.Second}
	if file, ok := w.(*os.File); ok && !f.quiet && term.IsTerminal(int(file.Fd())) {
		total := int64(0)
		for _, s := range sources {
			if s.Size < 0 {
				total = -1
				break
			}
			total += s.Size
		}
		p.show(total)
	}
	return p
}
