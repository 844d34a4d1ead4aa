package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/pierrec/lz4/v4"
)

// maxHadoopBlock bounds one packed block, packed and unpacked, in bytes.
// Hadoop's writers make blocks of 256 KiB unless they are told otherwise.
const maxHadoopBlock = 8 << 20

// hadoopReader reads the block form of Hadoop's codecs, which Doris calls
// snappy_block and lz4_block: groups of a big-endian length of the group's
// unpacked bytes, then blocks of a big-endian packed length and as many bytes,
// until the group is complete. It holds one block.
type hadoopReader struct {
	r io.Reader
	// unpack appends the block's bytes, at most limit, to dst[:0].
	unpack func(dst, packed []byte, limit int) ([]byte, error)
	// left is what is missing of the group in unpacked bytes.
	left   int
	packed []byte
	block  []byte
	at     int
}

func openSnappyBlock(r io.Reader) (io.ReadCloser, error) {
	return io.NopCloser(&hadoopReader{r: r, unpack: unpackSnappy}), nil
}

func openLZ4Block(r io.Reader) (io.ReadCloser, error) {
	return io.NopCloser(&hadoopReader{r: r, unpack: unpackLZ4}), nil
}

// Read implements io.Reader. A body that ends inside a group is
// io.ErrUnexpectedEOF.
func (h *hadoopReader) Read(p []byte) (int, error) {
	for h.at == len(h.block) {
		if err := h.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, h.block[h.at:])
	h.at += n
	return n, nil
}

// next unpacks the next block.
func (h *hadoopReader) next() error {
	h.block, h.at = h.block[:0], 0
	if h.left == 0 {
		n, err := h.length(io.EOF)
		if err != nil {
			return err
		}
		h.left = n
		return nil // a group of nothing has no block
	}
	n, err := h.length(io.ErrUnexpectedEOF)
	if err != nil {
		return err
	}
	if n > maxHadoopBlock {
		return fmt.Errorf("a block of %d packed bytes is longer than %d", n, maxHadoopBlock)
	}
	if cap(h.packed) < n {
		h.packed = make([]byte, n)
	}
	h.packed = h.packed[:n]
	if _, err := io.ReadFull(h.r, h.packed); err != nil {
		return cutShort(err)
	}
	if h.block, err = h.unpack(h.block, h.packed, min(h.left, maxHadoopBlock)); err != nil {
		return err
	}
	if len(h.block) == 0 {
		return errors.New("a block without bytes")
	}
	h.left -= len(h.block)
	return nil
}

// length reads four bytes; atEnd is the error if there is none.
func (h *hadoopReader) length(atEnd error) (int, error) {
	var b [4]byte
	if _, err := io.ReadFull(h.r, b[:]); errors.Is(err, io.EOF) {
		return 0, atEnd
	} else if err != nil {
		return 0, err
	}
	return int(binary.BigEndian.Uint32(b[:])), nil
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func unpackSnappy(dst, packed []byte, limit int) ([]byte, error) {
	n, err := s2.DecodedLen(packed)
	if err != nil {
		return dst, fmt.Errorf("a block of snappy: %w", err)
	}
	if n > limit {
		return dst, fmt.Errorf("a block of %d unpacked bytes where at most %d may follow", n, limit)
	}
	if cap(dst) < n {
		dst = make([]byte, n)
	}
	if dst, err = s2.Decode(dst[:n], packed); err != nil {
		return dst[:0], fmt.Errorf("a block of snappy: %w", err)
	}
	return dst, nil
}

// lz4Expansion is by how much lz4 makes bytes fewer at most.
const lz4Expansion = 255

func unpackLZ4(dst, packed []byte, limit int) ([]byte, error) {
	room := min(limit, lz4Expansion*len(packed))
	if cap(dst) < room {
		dst = make([]byte, room)
	}
	n, err := lz4.UncompressBlock(packed, dst[:room])
	if err != nil {
		return dst[:0], fmt.Errorf("a block of lz4 of at most %d bytes: %w", room, err)
	}
	return dst[:n], nil
}
