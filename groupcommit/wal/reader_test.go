package wal

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCutAtEveryByte cuts a file of three records at every byte: the whole
// records before the cut are there, and nothing else.
func TestCutAtEveryByte(t *testing.T) {
	data, edges := makeFile(t, 3)
	fs := vfs.NewMem()
	for cut := range len(data) + 1 {
		writeFile(t, fs, "/f", data[:cut])
		_, recs, err := readAll(fs, "/f")
		if cut < edges[0] {
			if !errors.Is(err, ErrNoHeader) {
				t.Fatalf("cut at %d: %v, want ErrNoHeader", cut, err)
			}
			continue
		}
		whole, clean := 0, cut == edges[0]
		for i, e := range edges[1:] {
			if cut >= e {
				whole = i + 1
			}
			clean = clean || cut == e
		}
		checkRecords(t, recs, whole, "cut")
		if clean != (err == nil) || !clean && !errors.Is(err, ErrTorn) {
			t.Fatalf("cut at %d: clean=%v, error %v", cut, clean, err)
		}
		if torn, ok := errors.AsType[*TornError](err); ok && (torn.Offset != int64(edges[whole]) || torn.Bytes != int64(len(bytes.TrimRight(data[edges[whole]:cut], "\x00")))) {
			t.Fatalf("cut at %d: %+v", cut, torn)
		}
	}
}

// TestFlipEveryBit flips each bit of a file of three records. In the last frame
// that cannot be told from a torn tail; before it, it is damage, since the later
// frames prove that the bad one had been on disk.
func TestFlipEveryBit(t *testing.T) {
	data, edges := makeFile(t, 3)
	fs := vfs.NewMem()
	for pos := range data {
		for bit := range 8 {
			bad := bytes.Clone(data)
			bad[pos] ^= 1 << bit
			writeFile(t, fs, "/f", bad)
			_, recs, err := readAll(fs, "/f")
			switch {
			case pos < edges[0]:
				if !errors.Is(err, ErrDamaged) {
					t.Fatalf("header byte %d bit %d: %v", pos, bit, err)
				}
			case pos < edges[2]:
				want := 0
				if pos >= edges[1] {
					want = 1
				}
				checkRecords(t, recs, want, "flip")
				if !errors.Is(err, ErrDamaged) {
					t.Fatalf("byte %d bit %d: %v, want ErrDamaged", pos, bit, err)
				}
			default:
				checkRecords(t, recs, 2, "flip")
				if !errors.Is(err, ErrTorn) {
					t.Fatalf("byte %d bit %d: %v, want ErrTorn", pos, bit, err)
				}
			}
		}
	}
}

func TestOddFiles(t *testing.T) {
	data, edges := makeFile(t, 3)
	zeros := make([]byte, 9000)
	middle := bytes.Clone(data)
	clear(middle[edges[1]:edges[2]])
	swapped := bytes.Clone(data[:edges[1]])
	swapped = append(swapped, data[edges[2]:]...)
	v1 := bytes.Clone(data)
	v1[4] = 1
	fixPrefix(v1)
	later := bytes.Clone(data)
	later[4] = 9
	fixPrefix(later)
	huge := bytes.Clone(data)
	copy(huge[8:], []byte{0xff, 0xff, 0xff, 0x7f})
	fixPrefix(huge)
	tests := []struct {
		name string
		data []byte
		recs int
		err  error
	}{
		{"sound", data, 3, nil},
		{"header only", data[:edges[0]], 0, nil},
		{"empty", nil, 0, ErrNoHeader},
		{"zeros", zeros, 0, ErrNoHeader},
		{"padding", append(bytes.Clone(data), zeros...), 3, nil},
		{"padding shorter than a frame's header", append(bytes.Clone(data), 0, 0, 0), 3, nil},
		{"something behind padding", append(append(bytes.Clone(data), zeros...), 1), 3, ErrTorn},
		{"version 1", v1, 3, nil},
		{"version 1 and a zero tail", append(bytes.Clone(v1), zeros...), 3, ErrTorn},
		{"version 1, header and a zero tail", append(bytes.Clone(v1[:edges[0]]), zeros...), 0, ErrTorn},
		{"zero tail of a cut frame", append(bytes.Clone(data[:edges[2]+9]), zeros...), 2, ErrTorn},
		{"padding after the header", append(bytes.Clone(data[:edges[0]]), zeros...), 0, nil},
		{"header half zero", append(bytes.Clone(data[:40]), make([]byte, edges[0]-40)...), 0, ErrNoHeader},
		{"frame in the middle zero", middle, 1, ErrDamaged},
		{"frame in the middle gone", swapped, 1, ErrDamaged},
		{"foreign text", []byte("#!/bin/sh\necho this is some other program's file\n"), 0, ErrDamaged},
		{"foreign binary", bytes.Repeat([]byte{0x7f, 'E', 'L', 'F'}, 5000), 0, ErrDamaged},
		{"later format", later, 0, ErrVersion},
		{"header length beyond the bound", huge, 0, ErrDamaged},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			fs := vfs.NewMem()
			writeFile(t, fs, "/f", tc.data)
			_, recs, err := readAll(fs, "/f")
			checkRecords(t, recs, tc.recs, tc.name)
			if !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
		})
	}
}

// TestRowsCannotForgeFrames stores the bytes of a sound frame as a row of
// another file and tears the frame that holds it: still a torn tail.
func TestRowsCannotForgeFrames(t *testing.T) {
	data, edges := makeFile(t, 2)
	frame := data[edges[1]:edges[2]]
	fs := vfs.NewMem()
	m := openTest(t, fs)
	if _, err := m.opts.Rand.Read(make([]byte, 3)); err != nil { // another salt
		t.Fatal(err)
	}
	w, err := m.Create(t.Context(), testHeader(7), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Append(t.Context(), reqID(0), 1, frame), w.Close()); err != nil {
		t.Fatal(err)
	}
	torn := readFile(t, fs, w.Path())
	torn[w.Bytes()-1] ^= 1
	writeFile(t, fs, "/f", torn)
	if _, recs, err := readAll(fs, "/f"); !errors.Is(err, ErrTorn) || len(recs) != 0 {
		t.Fatalf("%d records, %v", len(recs), err)
	}
}

// TestTornLargeFrame makes the search for sound frames cross its chunks.
func TestTornLargeFrame(t *testing.T) {
	fs := vfs.NewMem()
	m := openTest(t, fs)
	w, err := m.Create(t.Context(), testHeader(7), nil)
	if err != nil {
		t.Fatal(err)
	}
	big := bytes.Repeat([]byte("0123456789"), 350_000)
	if err := errors.Join(w.Append(t.Context(), reqID(0), 1, big), w.Append(t.Context(), reqID(1), 1, []byte("x")), w.Close()); err != nil {
		t.Fatal(err)
	}
	data := readFile(t, fs, w.Path())
	data[w.Bytes()-3_000_000] ^= 1
	writeFile(t, fs, "/damaged", data)
	if _, _, err := readAll(fs, "/damaged"); !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	writeFile(t, fs, "/torn", data[:w.Bytes()-100])
	if _, _, err := readAll(fs, "/torn"); !errors.Is(err, ErrTorn) {
		t.Fatal(err)
	}
}
