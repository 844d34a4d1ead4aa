package wal

import (
	"encoding/binary"
	"hash/crc32"
)

// frameHeader is the length of the header before each payload: payload length,
// payload checksum, checksum of the frame before, checksum of these 12 bytes.
const frameHeader = 16

// maxFrame bounds a payload; more waiting bytes than that cannot be, since the
// queues' memory budget is far below.
const maxFrame = 1<<31 - 1

// Record is one load as it was acknowledged.
type Record struct {
	RequestID [16]byte
	Rows      int
	// Encoded are the rows in the block codec. It aliases the reader's memory
	// until the next call of Next.
	Encoded []byte
}

func appendRecord(dst []byte, id [16]byte, rows int, encoded []byte) []byte {
	dst = append(dst, id[:]...)
	dst = binary.AppendUvarint(dst, uint64(rows))
	dst = binary.AppendUvarint(dst, uint64(len(encoded)))
	return append(dst, encoded...)
}

// recordBound is the most bytes that a record of n encoded bytes takes.
func recordBound(n int) int64 { return int64(n) + 16 + 10 + 5 }

func parseRecord(p []byte) (rec Record, rest []byte, ok bool) {
	if len(p) < 16 {
		return Record{}, nil, false
	}
	copy(rec.RequestID[:], p)
	p = p[16:]
	rows, n := binary.Uvarint(p)
	if n <= 0 || rows > 1<<40 {
		return Record{}, nil, false
	}
	p = p[n:]
	size, n := binary.Uvarint(p)
	if n <= 0 || size > uint64(len(p)-n) {
		return Record{}, nil, false
	}
	p = p[n:]
	rec.Rows = int(rows)
	rec.Encoded = p[:size:size]
	return rec, p[size:], true
}

// sealFrame fills in the frame header at the start of buf, whose payload
// follows it, and returns the header's checksum: the next frame's "before".
func sealFrame(buf []byte, seed, before uint32) uint32 {
	payload := buf[frameHeader:]
	binary.LittleEndian.PutUint32(buf[0:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(buf[4:], crc32.Checksum(payload, castagnoli))
	binary.LittleEndian.PutUint32(buf[8:], before)
	sum := crc32.Update(seed, castagnoli, buf[:12])
	binary.LittleEndian.PutUint32(buf[12:], sum)
	return sum
}

// frameInfo is a frame header that passed its own checksum.
type frameInfo struct {
	length, payloadSum, before, sum uint32
}

func parseFrame(p []byte, seed uint32) (frameInfo, bool) {
	f := frameInfo{
		length:     binary.LittleEndian.Uint32(p[0:]),
		payloadSum: binary.LittleEndian.Uint32(p[4:]),
		before:     binary.LittleEndian.Uint32(p[8:]),
		sum:        binary.LittleEndian.Uint32(p[12:]),
	}
	return f, f.length > 0 && f.length <= maxFrame && crc32.Update(seed, castagnoli, p[:12]) == f.sum
}
