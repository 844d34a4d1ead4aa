package bulkload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dorisgo/load"
)

// Stdin is the name of standard input among sources.
const Stdin = "-"

// Source is one file to load, or a stream.
type Source struct {
	// Name is for messages: the path, or "-" for a stream.
	Name string
	// Stream is read instead of the file, once.
	Stream io.Reader
	// Size is the file's in bytes, -1 if the bytes to load are not counted yet: a
	// stream, or a file that is unpacked.
	Size int64
	// Unpack is the compression to undo before chunks are cut, "" for none.
	Unpack string
}

// packed are the endings of files that are unpacked here, and how.
var packed = map[string]string{".gz": "gz", ".bz2": "bz2", ".lz4": "lz4", ".zst": "zstd"}

// Expand turns names, globs, directories and lists of them separated by commas
// into sources: each file once, in the order given, those of a glob or directory
// by name. Directories are walked; hidden files in them are left out. Stdin
// stands for in. Without unpack, compressed files are loaded as they are.
func Expand(args []string, in io.Reader, unpack bool) ([]*Source, error) {
	x := &expansion{seen: map[string]bool{}, unpack: unpack}
	for _, arg := range args {
		names := []string{arg}
		if _, err := os.Stat(arg); err != nil {
			names = strings.Split(arg, ",")
		}
		for _, n := range names {
			if n = strings.TrimSpace(n); n == "" {
				continue
			}
			if n == Stdin {
				if x.seen[n] {
					return nil, errors.New("standard input can be read only once")
				}
				x.seen[n] = true
				x.list = append(x.list, &Source{Name: Stdin, Stream: in, Size: -1})
				continue
			}
			if err := x.add(n); err != nil {
				return nil, err
			}
		}
	}
	if len(x.list) == 0 {
		return nil, errors.New("no file to load was given")
	}
	return x.list, nil
}

type expansion struct {
	list   []*Source
	seen   map[string]bool
	unpack bool
}

func (x *expansion) add(name string) error {
	if _, err := os.Stat(name); err == nil {
		return x.path(name)
	} else if !strings.ContainsAny(name, `*?[`) {
		return fmt.Errorf("cannot load %q: %w", name, err)
	}
	found, err := filepath.Glob(name)
	if err != nil {
		return fmt.Errorf("the pattern %q is wrong: %w", name, err)
	}
	if len(found) == 0 {
		return fmt.Errorf("no file matches %q", name)
	}
	slices.Sort(found)
	for _, f := range found {
		if err := x.path(f); err != nil {
			return err
		}
	}
	return nil
}

// path adds a file, or the files of a directory.
func (x *expansion) path(name string) error {
	return filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("cannot read %q: %w", path, err)
		}
		if path != name && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		return x.file(path)
	})
}

func (x *expansion) file(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", path, err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return err
	}
	if x.seen[real] {
		return nil
	}
	x.seen[real] = true
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", path, err)
	}
	if info.IsDir() {
		return nil // a link to a directory inside a directory is not followed
	}
	s := &Source{Name: path, Size: info.Size()}
	if x.unpack {
		s.Unpack = packed[strings.ToLower(filepath.Ext(path))]
	}
	if s.Unpack != "" || !info.Mode().IsRegular() {
		s.Size = -1
	}
	x.list = append(x.list, s)
	return nil
}

// noLimit is for files that the user has: their unpacked size is no attack.
const noLimit = 1 << 62

// open starts to read the bytes to load. again says that they can be read a
// second time, at their offsets in the file. Streams are read by size bytes.
func (s *Source) open(ctx context.Context, size int) (r io.Reader, closer io.Closer, again bool, err error) {
	if s.Stream != nil {
		return newPump(ctx, s.Stream, size), io.NopCloser(nil), false, nil
	}
	f, err := os.Open(s.Name)
	if err != nil {
		return nil, nil, false, err
	}
	switch {
	case s.Unpack == "" && s.Size < 0: // a pipe or device
		return newPump(ctx, f, size), f, false, nil
	case s.Unpack == "":
		return f, f, true, nil
	}
	u, err := load.Decompress(s.Unpack, f, noLimit)
	if err != nil {
		f.Close()
		return nil, nil, false, err
	}
	return u, both{u, f}, false, nil
}

// both closes two things.
type both [2]io.Closer

// Close implements io.Closer.
func (b both) Close() error { return errors.Join(b[0].Close(), b[1].Close()) }

// pump reads a stream so that waiting for it ends with a context, which a read
// from a terminal or pipe does not.
type pump struct {
	ctx  context.Context
	full chan piece
	free chan []byte
	cur  piece
	pos  int
}

type piece struct {
	b   []byte
	n   int
	err error
}

// newPump starts the reading goroutine. It ends with the stream or at the first
// piece after the end of ctx; one that waits in Read goes with the process.
func newPump(ctx context.Context, r io.Reader, size int) *pump {
	p := &pump{ctx: ctx, full: make(chan piece), free: make(chan []byte, 2)}
	p.free <- make([]byte, size)
	p.free <- make([]byte, size)
	go func() {
		for {
			var b []byte
			select {
			case b = <-p.free:
			case <-ctx.Done():
				return
			}
			n, err := r.Read(b)
			select {
			case p.full <- piece{b, n, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return p
}

// Read implements io.Reader.
func (p *pump) Read(to []byte) (int, error) {
	for p.pos == p.cur.n {
		if p.cur.err != nil {
			return 0, p.cur.err
		}
		if p.cur.b != nil {
			p.free <- p.cur.b
		}
		select {
		case p.cur = <-p.full:
			p.pos = 0
		case <-p.ctx.Done():
			p.cur, p.pos = piece{}, 0
			return 0, p.ctx.Err()
		}
	}
	n := copy(to, p.cur.b[p.pos:p.cur.n])
	p.pos += n
	return n, nil
}
