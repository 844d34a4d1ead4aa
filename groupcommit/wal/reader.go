package wal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// scanChunk is how much of a file's rest is looked at at a time in search of a
// sound frame behind a bad one.
const scanChunk = 1 << 20

// Reader returns the records of one file in order. It never allocates more than
// the file is long.
type Reader struct {
	f      vfs.File
	path   string
	size   int64
	off    int64
	seed   uint32
	before uint32
	padded bool // zeros after the last frame are padding
	buf    []byte
	rest   []byte // unread records of the present frame
	frames int
	end    error // what every later Next returns
}

// OpenReader opens a file and reads its header. Errors: ErrNoHeader, ErrDamaged,
// ErrVersion, or one of the file system. The caller closes the reader.
func OpenReader(fs vfs.FS, path string) (*Reader, Header, error) {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return nil, Header{}, fmt.Errorf("cannot open wal file: %w", err)
	}
	r := &Reader{f: f, path: path}
	h, err := r.readHeader()
	if err != nil {
		return nil, Header{}, errors.Join(fmt.Errorf("cannot read header of %s: %w", path, err), f.Close())
	}
	return r, h, nil
}

// OpenReader opens a file in the manager's file system.
func (m *Manager) OpenReader(path string) (*Reader, Header, error) { return OpenReader(m.fs, path) }

func (r *Reader) readHeader() (Header, error) {
	info, err := r.f.Stat()
	if err != nil {
		return Header{}, err
	}
	r.size = info.Size()
	if r.size < prefixLen {
		return Header{}, ErrNoHeader
	}
	var prefix [prefixLen]byte
	if err := r.readAt(prefix[:], 0); err != nil {
		return Header{}, err
	}
	if string(prefix[:4]) != magic || crc32.Checksum(prefix[:12], castagnoli) != binary.LittleEndian.Uint32(prefix[12:]) {
		return Header{}, r.noPrefix()
	}
	version := binary.LittleEndian.Uint16(prefix[4:])
	if version == 0 || version > FormatVersion {
		return Header{}, fmt.Errorf("%w %d", ErrVersion, version)
	}
	n := int64(binary.LittleEndian.Uint32(prefix[8:]))
	if n > maxHeader {
		return Header{}, fmt.Errorf("%w: header of %d bytes", ErrDamaged, n)
	}
	end := prefixLen + n + 4
	if r.size < end {
		return Header{}, ErrNoHeader
	}
	body := make([]byte, n+4)
	if err := r.readAt(body, prefixLen); err != nil {
		return Header{}, err
	}
	r.seed = binary.LittleEndian.Uint32(body[n:])
	if crc32.Checksum(body[:n], castagnoli) != r.seed {
		if r.size == end {
			// The header was never fsynced: no frame can follow, none does.
			return Header{}, ErrNoHeader
		}
		return Header{}, fmt.Errorf("%w: header checksum", ErrDamaged)
	}
	h, err := parseBody(body[:n])
	if err != nil {
		return Header{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	h.Version = version
	r.off, r.before, r.padded = end, r.seed, version >= paddedFrom
	return h, nil
}

// noPrefix tells a file whose first block was never written from damage.
func (r *Reader) noPrefix() error {
	zero, err := r.zeroFrom(0)
	switch {
	case err != nil:
		return err
	case !zero:
		return fmt.Errorf("%w: magic number or header prefix", ErrDamaged)
	}
	return ErrNoHeader
}

// zeroFrom says whether the file has nothing but zeros from off on.
func (r *Reader) zeroFrom(off int64) (bool, error) {
	var chunk [4096]byte
	for ; off < r.size; off += int64(len(chunk)) {
		p := chunk[:min(int64(len(chunk)), r.size-off)]
		if err := r.readAt(p, off); err != nil {
			return false, err
		}
		if !bytes.Equal(p, zeros[:len(p)]) {
			return false, nil
		}
	}
	return true, nil
}

var zeros [4096]byte

func (r *Reader) readAt(p []byte, off int64) error {
	if n, err := r.f.ReadAt(p, off); err != nil && !(errors.Is(err, io.EOF) && n == len(p)) {
		return fmt.Errorf("cannot read %d bytes at %d of %s: %w", len(p), off, r.path, err)
	}
	return nil
}

// Next returns the next record. At the end: io.EOF if the file ends with a sound
// frame or the padding after it, a *TornError if it ends with an unfinished one, ErrDamaged if a bad
// frame is followed by a sound one. Other errors are those of the file system
// and say nothing about the file.
func (r *Reader) Next() (Record, error) {
	for len(r.rest) == 0 {
		if r.end != nil {
			return Record{}, r.end
		}
		if err := r.nextFrame(); err != nil {
			r.end = err
		}
	}
	rec, rest, ok := parseRecord(r.rest)
	if !ok {
		r.rest, r.end = nil, fmt.Errorf("%w: record in frame %d of %s", ErrDamaged, r.frames, r.path)
		return Record{}, r.end
	}
	r.rest = rest
	return rec, nil
}

// Frames is the number of sound frames met so far.
func (r *Reader) Frames() int { return r.frames }

// Offset is the end of the last sound frame met.
func (r *Reader) Offset() int64 { return r.off }

// Close closes the file.
func (r *Reader) Close() error { return r.f.Close() }

func (r *Reader) nextFrame() error {
	if r.off == r.size {
		return io.EOF
	}
	f, err := r.soundFrameAt(r.off)
	if err != nil {
		return err
	}
	if f == nil || f.before != r.before {
		if r.padded {
			if zero, err := r.zeroFrom(r.off); zero || err != nil {
				return cmp.Or(err, io.EOF)
			}
		}
		return r.badFrame()
	}
	r.rest = r.buf[:f.length]
	r.off += frameHeader + int64(f.length)
	r.before = f.sum
	r.frames++
	return nil
}

// soundFrameAt reads the frame at off into r.buf; nil if there is no sound one.
func (r *Reader) soundFrameAt(off int64) (*frameInfo, error) {
	if r.size-off < frameHeader {
		return nil, nil
	}
	var head [frameHeader]byte
	if err := r.readAt(head[:], off); err != nil {
		return nil, err
	}
	f, ok := parseFrame(head[:], r.seed)
	if !ok || int64(f.length) > r.size-off-frameHeader {
		return nil, nil
	}
	if cap(r.buf) < int(f.length) {
		r.buf = make([]byte, f.length)
	}
	payload := r.buf[:f.length]
	if err := r.readAt(payload, off+frameHeader); err != nil {
		return nil, err
	}
	if crc32.Checksum(payload, castagnoli) != f.payloadSum {
		return nil, nil
	}
	return &f, nil
}

// badFrame decides between a torn tail and damage: a frame is written only
// after the one before was fsynced, so nothing sound can follow a torn one.
func (r *Reader) badFrame() error {
	chunk := make([]byte, min(scanChunk, r.size-r.off))
	// The frame at r.off itself may be sound with a wrong chain: damage too.
	for off := r.off; r.size-off >= frameHeader; off += int64(len(chunk)) - frameHeader + 1 {
		p := chunk[:min(int64(len(chunk)), r.size-off)]
		if err := r.readAt(p, off); err != nil {
			return err
		}
		for i := 0; i+frameHeader <= len(p); i++ {
			if _, ok := parseFrame(p[i:], r.seed); !ok {
				continue
			}
			f, err := r.soundFrameAt(off + int64(i))
			if err != nil {
				return err
			}
			if f != nil {
				return fmt.Errorf("%w: bad frame at %d of %s, sound frame at %d", ErrDamaged, r.off, r.path, off+int64(i))
			}
		}
		if int64(len(p)) == r.size-off {
			break
		}
	}
	end, err := r.lastByte()
	if err != nil {
		return err
	}
	return &TornError{Offset: r.off, Bytes: end - r.off}
}

// lastByte is the end of the file without the zeros that may be padding.
func (r *Reader) lastByte() (int64, error) {
	end := r.size
	if !r.padded {
		return end, nil
	}
	var chunk [4096]byte
	for end > r.off {
		p := chunk[:min(int64(len(chunk)), end-r.off)]
		if err := r.readAt(p, end-int64(len(p))); err != nil {
			return 0, err
		}
		if left := len(bytes.TrimRight(p, "\x00")); left > 0 {
			return end - int64(len(p)-left), nil
		}
		end -= int64(len(p))
	}
	return end, nil
}
