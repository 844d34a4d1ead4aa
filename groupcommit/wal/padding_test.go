package wal

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestPadding: small frames are written over zeros, so that the file's length
// changes once in many fsyncs; large ones add no zeros. On the real disk too,
// where writing at an offset is another call.
func TestPadding(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"memory": vfs.NewMem(), "disk": vfs.Default} {
		t.Run(name, func(t *testing.T) {
			m := openTest(t, fs, fs.PathJoin(t.TempDir(), "wal"))
			w, err := m.Create(t.Context(), testHeader(7), nil)
			if err != nil {
				t.Fatal(err)
			}
			lengths := map[int64]bool{}
			add := func(i, size int) {
				t.Helper()
				if err := w.Append(t.Context(), reqID(i), 1, bytes.Repeat([]byte{byte(i)}, size)); err != nil {
					t.Fatal(err)
				}
				info, err := fs.Stat(w.Path())
				if err != nil {
					t.Fatal(err)
				}
				lengths[info.Size()] = true
				if s := m.Space()[0]; s.Used != info.Size() {
					t.Fatalf("after record %d the file has %d bytes, %d are accounted for", i, info.Size(), s.Used)
				}
			}
			for i := range 300 {
				add(i, 400)
			}
			// 4, 8, 16, 32 and 64 KiB, then 64 KiB more each.
			if want := 5 + int(w.Bytes()/padMax); len(lengths) != want {
				t.Errorf("300 frames of 400 bytes made %d lengths of the file, want %d", len(lengths), want)
			}
			add(300, padMax)
			add(301, padFrame+1)
			if info, err := fs.Stat(w.Path()); err != nil || info.Size() != w.Bytes() {
				t.Errorf("after a large frame the file has %d bytes, %d of them used (%v)", info.Size(), w.Bytes(), err)
			}
			add(302, 400)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			_, recs, err := readAll(fs, w.Path())
			if err != nil || len(recs) != 303 {
				t.Fatalf("%d records, %v", len(recs), err)
			}
			for i, r := range recs {
				if r.RequestID != reqID(i) || r.Encoded[0] != byte(i) || r.Encoded[len(r.Encoded)-1] != byte(i) {
					t.Fatalf("record %d is %x…", i, r.Encoded[:4])
				}
			}
			if err := m.Remove(w.Path()); err != nil {
				t.Fatal(err)
			}
			if s := m.Space()[0]; s.Used != 0 {
				t.Errorf("%d bytes are accounted for without a file", s.Used)
			}
		})
	}
}

// TestPaddingNeedsRoom: a directory that is nearly full takes frames without.
func TestPaddingNeedsRoom(t *testing.T) {
	fs := vfs.NewMem()
	m, err := Open(fs, []string{"/wal"}, Options{Limit: "1000", Rand: &fixedRand{}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := m.Create(t.Context(), testHeader(7), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Append(t.Context(), reqID(0), 1, payload(0)), w.Close(), m.Close()); err != nil {
		t.Fatal(err)
	}
	if n := len(readFile(t, fs, w.Path())); n > 1000 || int64(n) != w.Bytes() {
		t.Fatalf("the file has %d bytes, %d of them used, the limit is 1000", n, w.Bytes())
	}
}

// TestTornInPadding loses the end of the last frame's write, for every length
// of what is left of it: as that part was zeros before, they follow it.
func TestTornInPadding(t *testing.T) {
	data, edges := makeFile(t, 3)
	fs := vfs.NewMem()
	for cut := edges[2]; cut <= edges[3]; cut++ {
		file := append(bytes.Clone(data[:cut]), make([]byte, 5000-cut)...)
		writeFile(t, fs, "/f", file)
		_, recs, err := readAll(fs, "/f")
		switch cut {
		case edges[2]:
			checkRecords(t, recs, 2, "nothing of the frame")
			if err != nil {
				t.Fatalf("nothing of the last frame reached the disk: %v", err)
			}
		case edges[3]:
			checkRecords(t, recs, 3, "the whole frame")
			if err != nil {
				t.Fatal(err)
			}
		default:
			checkRecords(t, recs, 2, "a part of the frame")
			if torn, ok := errors.AsType[*TornError](err); !ok || torn.Offset != int64(edges[2]) ||
				torn.Bytes != int64(len(bytes.TrimRight(data[edges[2]:cut], "\x00"))) {
				t.Fatalf("%d bytes of the last frame: %v", cut-edges[2], err)
			}
		}
	}
	// The first part of the write is lost, the second is there.
	half := append(bytes.Clone(data), make([]byte, 3000)...)
	clear(half[edges[2] : edges[2]+frameHeader])
	writeFile(t, fs, "/f", half)
	if _, recs, err := readAll(fs, "/f"); !errors.Is(err, ErrTorn) || len(recs) != 2 {
		t.Fatalf("%d records, %v", len(recs), err)
	}
}
