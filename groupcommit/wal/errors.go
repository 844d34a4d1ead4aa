package wal

import (
	"errors"
	"fmt"
)

// The decisions that a caller makes by an error.
var (
	// ErrDead: a write or fsync of this file failed once; it takes nothing any
	// more (docs/protocol.md, rule 7).
	ErrDead = errors.New("wal: file is closed for ever after a failed write")
	// ErrClosed: the file was sealed.
	ErrClosed = errors.New("wal: file is sealed")
	// ErrNoSpace: the directory's limit (group_commit_wal_max_disk_limit) or
	// the disk has no room for the record. Nothing was written.
	ErrNoSpace = errors.New("wal: no space")
	// ErrTorn: the file ends in an unfinished frame; every record before it was
	// returned. The error is a *TornError.
	ErrTorn = errors.New("wal: torn tail")
	// ErrDamaged: a frame is bad and sound frames follow, or the header is bad
	// and bytes follow: acknowledged rows may be lost, a person must look.
	ErrDamaged = errors.New("wal: damaged")
	// ErrNoHeader: the file ends before its header is complete. No load was
	// ever acknowledged from it.
	ErrNoHeader = errors.New("wal: file has no complete header")
	// ErrVersion: the file or directory was written by a later version of the format.
	ErrVersion = errors.New("wal: unknown format version")
)

// TornError says where the sound part of a file ends.
type TornError struct {
	// Offset is the length of the sound part, Bytes the length of the rest.
	Offset, Bytes int64
}

// Error describes the tail.
func (e *TornError) Error() string {
	return fmt.Sprintf("%v: %d bytes after offset %d", ErrTorn, e.Bytes, e.Offset)
}

// Is makes errors.Is(err, ErrTorn) true.
func (e *TornError) Is(target error) bool { return target == ErrTorn }
