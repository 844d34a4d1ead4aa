package wal

import (
	"errors"
	"io"
	"testing"

	"encoding/binary"
	"hash/crc32"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fixPrefix makes the header's prefix checksum right after a change.
func fixPrefix(b []byte) {
	binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[:12], castagnoli))
}

// FuzzReader feeds whole files: no panic, an end, no more memory than the file.
// With fix set, checksums are made right so that the parsers behind them work.
func FuzzReader(f *testing.F) {
	data, edges := makeFile(f, 3)
	f.Add(data, false)
	f.Add(data, true)
	f.Add(data[:edges[2]+5], false)
	f.Add(data[:edges[0]], true)
	f.Add([]byte(magic), true)
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		if fix && len(b) > 40 {
			n := len(b)
			binary.LittleEndian.PutUint32(b[8:], uint32(n-prefixLen-4))
			fixPrefix(b)
			binary.LittleEndian.PutUint32(b[n-4:], crc32.Checksum(b[prefixLen:n-4], castagnoli))
		}
		fs := vfs.NewMem()
		writeFile(t, fs, "/f", b)
		r, h, err := OpenReader(fs, "/f")
		if err != nil {
			return
		}
		defer r.Close()
		if again, _ := appendHeader(nil, &h); len(again) > len(b)+64 {
			t.Fatalf("header of %d bytes from a file of %d", len(again), len(b))
		}
		total := 0
		for {
			rec, err := r.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, ErrTorn) && !errors.Is(err, ErrDamaged) {
					t.Fatal(err)
				}
				return
			}
			if total += len(rec.Encoded) + 16; total > len(b) {
				t.Fatal("more records than bytes")
			}
		}
	})
}

// FuzzRecord feeds the payload of a sound frame.
func FuzzRecord(f *testing.F) {
	f.Add(appendRecord(nil, reqID(1), 1, payload(1)))
	f.Add(make([]byte, 20))
	f.Fuzz(func(t *testing.T, p []byte) {
		for len(p) > 0 {
			rec, rest, ok := parseRecord(p)
			if !ok {
				return
			}
			if len(rest) >= len(p) || rec.Rows < 0 {
				t.Fatal("no progress")
			}
			p = rest
		}
	})
}
