package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"dorisgo/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixedRand gives the same "random" bytes in each run.
type fixedRand struct{ n byte }

func (r *fixedRand) Read(p []byte) (int, error) {
	for i := range p {
		r.n += 7
		p[i] = r.n
	}
	return len(p), nil
}

func openTest(t testing.TB, fs vfs.FS, dirs ...string) *Manager {
	t.Helper()
	if len(dirs) == 0 {
		dirs = []string{"/wal"}
	}
	m, err := Open(fs, dirs, Options{Rand: &fixedRand{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func testHeader(txn int64) *Header {
	return &Header{
		ClusterID: "c0ffee", MetaEpoch: 2, BackendUUID: "be-uuid", BackendID: 10001, TxnID: txn, OwnerEpoch: 1,
		Label: fmt.Sprintf("group_commit_%016x_%016x", 1, txn), DBID: 11, TableID: 22, TableEpoch: 3, SchemaVersion: 4, Ordered: true,
		Columns: []Column{
			{UniqueID: 0, Name: "id", Type: value.Type{Kind: value.Int}},
			{UniqueID: 1, Name: "name", Type: value.Type{Kind: value.VarChar, Length: 50}, Nullable: true},
			{UniqueID: 2, Name: "price", Type: value.Type{Kind: value.Decimal, Precision: 9, Scale: 3}, Nullable: true},
		},
		Facts:     []Fact{{Name: "time_zone", Value: "Asia/Shanghai"}},
		CreatedMs: 1700000000000,
	}
}

func reqID(i int) (id [16]byte) {
	copy(id[:], fmt.Sprintf("request-%08d", i))
	return id
}

// payload is what test record i holds.
func payload(i int) []byte { return bytes.Repeat([]byte{byte('a' + i%26)}, 5+i%3) }

func readFile(t testing.TB, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t testing.TB, fs vfs.FS, path string, b []byte) {
	t.Helper()
	f, err := fs.Create(path, category)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(bytes.Clone(b))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// readAll returns the records and the error that ended them (nil for io.EOF).
func readAll(fs vfs.FS, path string) (Header, []Record, error) {
	r, h, err := OpenReader(fs, path)
	if err != nil {
		return h, nil, err
	}
	defer r.Close()
	var recs []Record
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return h, recs, nil
		}
		if err != nil {
			return h, recs, err
		}
		rec.Encoded = bytes.Clone(rec.Encoded)
		recs = append(recs, rec)
	}
}

// makeFile writes n records, each in a frame of its own, and returns the file's
// bytes without the padding and where each frame begins; the last entry is the
// end of the last frame.
func makeFile(t testing.TB, n int) (data []byte, edges []int) {
	t.Helper()
	fs := vfs.NewMem()
	m := openTest(t, fs)
	w, err := m.Create(t.Context(), testHeader(7), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		edges = append(edges, int(w.Bytes()))
		if err := w.Append(t.Context(), reqID(i), i+1, payload(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data = readFile(t, fs, w.Path())[:w.Bytes()]
	return data, append(edges, len(data))
}

func checkRecords(t testing.TB, recs []Record, want int, what string) {
	t.Helper()
	if len(recs) != want {
		t.Fatalf("%s: %d records, want %d", what, len(recs), want)
	}
	for i, r := range recs {
		if r.RequestID != reqID(i) || r.Rows != i+1 || !bytes.Equal(r.Encoded, payload(i)) {
			t.Fatalf("%s: record %d is %+v", what, i, r)
		}
	}
}
