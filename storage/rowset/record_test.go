package rowset

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"dorisgo/value"
)

var update = flag.Bool("update", false, "write testdata/golden.txt")

func columns() []ColumnDesc {
	return []ColumnDesc{
		{UniqueID: 0, Name: "k", Type: value.Type{Kind: value.BigInt}, Key: true},
		{UniqueID: 3, Name: "name", Type: value.Type{Kind: value.VarChar, Length: 65533}, Nullable: true},
		{UniqueID: 200, Name: "größe", Type: value.Type{Kind: value.Decimal, Precision: 38, Scale: 9}, Nullable: true},
	}
}

func id(b byte) (id ID) {
	for i := range id {
		id[i] = b + byte(i)
	}
	return id
}

func records() []Record {
	cols := HashColumns(AppendColumns(nil, columns()))
	pending := Record{
		Meta: Meta{
			ID: id(1), TabletID: 10001, PartitionID: 20001, TxnID: 500, SchemaVersion: 2,
			Rows: 3, Bytes: 77, Checksum: 0xdeadbeef,
		},
		ColumnsID: cols, Kind: Inline, OwnerEpoch: 1,
	}
	live := pending
	live.Start, live.End, live.Seq = 7, 7, 2
	replaced := live
	replaced.ReplacedBy, replaced.ReplacedAtMs = id(0x40), 1_700_000_000_123
	file := Record{
		Meta:      Meta{ID: id(0x40), TabletID: 10001, PartitionID: 20001, SchemaVersion: 2, Rows: 1 << 40, Bytes: 1 << 41},
		ColumnsID: cols, Kind: File, FileBytes: 1 << 39, FileChecksum: 0xfeedf00d, Start: 2, End: 99,
	}
	merged := file
	merged.Merges = 3
	return []Record{pending, live, replaced, file, merged}
}

func TestGolden(t *testing.T) {
	var sb strings.Builder
	fmt.Fprintf(&sb, "columns %x\n", AppendColumns(nil, columns()))
	for _, r := range records() {
		fmt.Fprintf(&sb, "record %x\n", AppendRecord(nil, &r))
	}
	if *update {
		if err := os.WriteFile("testdata/golden.txt", []byte(sb.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	if sb.String() != string(want) {
		t.Errorf("the format changed: got\n%swant\n%s", sb.String(), want)
	}
}

func TestRoundTrip(t *testing.T) {
	got, err := DecodeColumns(AppendColumns(nil, columns()))
	if err != nil || !reflect.DeepEqual(got, columns()) {
		t.Errorf("columns: %+v, %v", got, err)
	}
	for _, want := range records() {
		if got, err := DecodeRecord(AppendRecord(nil, &want)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if keys := KeyColumns(columns()); !reflect.DeepEqual(keys, []int{0}) {
		t.Errorf("key columns %v", keys)
	}
}

// TestOldRecords reads what builds before the files' checksums wrote.
func TestOldRecords(t *testing.T) {
	old, err := os.ReadFile("testdata/golden1.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(old)), "\n")[1:] {
		b, err := hex.DecodeString(strings.TrimPrefix(line, "record "))
		if err != nil {
			t.Fatal(err)
		}
		want := records()[i]
		want.FileChecksum = 0
		if got, err := DecodeRecord(b); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	r := records()[2]
	record, cols := AppendRecord(nil, &r), AppendColumns(nil, columns())
	changed := func(b []byte, at int, v byte) []byte {
		b = append([]byte(nil), b...)
		b[at] = v
		return b
	}
	for name, b := range map[string][]byte{
		"newer version": changed(record, 0, 3), "no version": changed(record, 0, 0), "unknown kind": changed(record, 1, 9),
		"long": append(append([]byte(nil), record...), 0),
	} {
		if _, err := DecodeRecord(b); err == nil {
			t.Errorf("record, %s: no error", name)
		}
	}
	for i := range record {
		if _, err := DecodeRecord(record[:i]); err == nil {
			t.Errorf("record cut at %d: no error", i)
		}
	}
	for name, b := range map[string][]byte{
		"newer version": changed(cols, 0, 2), "many": changed(cols, 1, 100),
		"long": append(append([]byte(nil), cols...), 0),
	} {
		if _, err := DecodeColumns(b); err == nil {
			t.Errorf("columns, %s: no error", name)
		}
	}
	for i := range cols {
		if _, err := DecodeColumns(cols[:i]); err == nil {
			t.Errorf("columns cut at %d: no error", i)
		}
	}
}

func TestNames(t *testing.T) {
	if got, want := id(1).String(), hex.EncodeToString([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}); got != want {
		t.Errorf("id is %s", got)
	}
	if Checksum([]byte("123456789")) != 0xe3069283 {
		t.Error("the checksum is not CRC32C")
	}
}

func TestParts(t *testing.T) {
	base := id(0x10)
	seen := map[ID]bool{}
	for n := range uint32(1000) {
		seen[base.Part(n)] = true
	}
	if base.Part(0) != base || len(seen) != 1000 || base.Part(7).Part(7) != base {
		t.Errorf("%d ids of 1000 parts of %s", len(seen), base)
	}
}
