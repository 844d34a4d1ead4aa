package behttp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"dorisgo/doriserr"
)

// Spool keeps bodies that can only be read from a file, each for as long as its
// load takes. It is safe for concurrent use. Files are not fsynced: nothing of
// them outlives the process.
type Spool struct {
	dir   string
	limit func() int64

	mu   sync.Mutex
	used int64
}

// OpenSpool takes a directory of its own and removes what an earlier life left
// there. The limit bounds the bytes of all bodies together.
func OpenSpool(dir string, limit func() int64) (*Spool, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("cannot empty the spool directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the spool directory: %w", err)
	}
	return &Spool{dir: dir, limit: limit}, nil
}

// spoolStep is how many bytes are reserved at a time.
const spoolStep = 1 << 20

// spooled is a body in a file.
type spooled struct {
	s        *Spool
	path     string
	reserved int64
}

// take writes a body to a file. The errors of reading are returned as they are.
// The caller removes the file with drop; after an error there is none.
func (s *Spool) take(body io.Reader) (*spooled, error) {
	f, err := os.CreateTemp(s.dir, "body-*.spool")
	if err != nil {
		return nil, fmt.Errorf("cannot make a spool file: %w", err)
	}
	sp := &spooled{s: s, path: f.Name()}
	err = sp.fill(f, body)
	if closed := f.Close(); err == nil && closed != nil {
		err = fmt.Errorf("cannot write a spool file: %w", closed)
	}
	if err != nil {
		return nil, errors.Join(err, sp.drop())
	}
	return sp, nil
}

func (sp *spooled) fill(f *os.File, body io.Reader) error {
	buf := make([]byte, 256<<10)
	for written := int64(0); ; {
		n, err := body.Read(buf)
		if n > 0 {
			if written += int64(n); written > sp.reserved {
				if err := sp.reserve(max(spoolStep, written-sp.reserved)); err != nil {
					return err
				}
			}
			if _, err := f.Write(buf[:n]); err != nil {
				return fmt.Errorf("cannot write a spool file: %w", err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// reserve takes a part of the limit.
func (sp *spooled) reserve(n int64) error {
	s := sp.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if limit := s.limit(); s.used+n > limit {
		return doriserr.New(doriserr.ExceededLimit, "the bodies that this backend keeps in files would exceed load_spool_limit of %d bytes (%d in use); try again later", limit, s.used)
	}
	s.used += n
	sp.reserved += n
	return nil
}

// drop removes the file.
func (sp *spooled) drop() error {
	sp.s.mu.Lock()
	sp.s.used -= sp.reserved
	sp.reserved = 0
	sp.s.mu.Unlock()
	if err := os.Remove(sp.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot remove a spool file: %w", err)
	}
	return nil
}
