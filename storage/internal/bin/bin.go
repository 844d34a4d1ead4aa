// Package bin reads the small binary records that the storage keeps in Pebble.
package bin

import (
	"encoding/binary"
	"errors"
)

// ErrShort means that a record ends before its last field, or after it.
var ErrShort = errors.New("record has a wrong length")

// Reader takes fields off the front of a record. The first failure sticks:
// later reads give zero values, and Done returns the failure. It never
// allocates and never reads outside the record.
type Reader struct {
	b   []byte
	err error
}

// NewReader reads b, which it aliases.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Len is the number of bytes that are left.
func (r *Reader) Len() int { return len(r.b) }

// Fail makes err the reader's failure unless there is one already.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err, r.b = err, nil
	}
}

// Err is the first failure.
func (r *Reader) Err() error { return r.err }

// Uvarint reads an unsigned variable-length integer.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.Fail(ErrShort)
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Int64 reads a Uvarint as the int64 that it was made from.
func (r *Reader) Int64() int64 { return int64(r.Uvarint()) }

// Byte reads one byte.
func (r *Reader) Byte() byte {
	b := r.Bytes(1)
	if b == nil {
		return 0
	}
	return b[0]
}

// Uint32 reads four bytes, little-endian.
func (r *Reader) Uint32() uint32 {
	b := r.Bytes(4)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// Bytes reads n bytes, which alias the record; nil if they are not there.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.Fail(ErrShort)
		return nil
	}
	p := r.b[:n:n]
	r.b = r.b[n:]
	return p
}

// Done returns the first failure, or ErrShort if bytes are left.
func (r *Reader) Done() error {
	if r.err == nil && len(r.b) > 0 {
		r.err = ErrShort
	}
	return r.err
}
