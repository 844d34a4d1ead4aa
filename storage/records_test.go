package storage

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"dorisgo/storage/rowset"
)

var (
	testID   = RowsetID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	testUUID = UUID{0x6f, 0x1c, 0x0d, 0x9e, 0x3a, 0x7b, 0x4c, 0x55, 0x8e, 0x21, 0x0a, 0x9d, 0x5b, 0x7c, 0x4f, 0x10}
)

// TestRecords pins the keys and records of docs/format/storage.md.
func TestRecords(t *testing.T) {
	tab := tabletRecord{partitionID: 200, base: 1, gen: 3, droppedMs: 1_700_000_000_000, replica: 700, hole: 9, cloned: 8, added: true}
	par := partitionRecord{base: 1, floor: 300}
	entry := entryRecord{txnID: 500, rowsets: []PublishTablet{{TabletID: 11, RowsetID: testID}, {TabletID: 12, RowsetID: testID}}}
	root := rootRecord{FormatVersion, testUUID}
	var sb strings.Builder
	fmt.Fprintf(&sb, "key root %x\nkey columns %x\nkey tablet %x\nkey partition %x\nkey entry %x\nkey pending %x\nkey owner %x\n",
		key(keyIdentity), columnsKey(rowset.ColumnsID(testID)), key(keyTablet, 11), key(keyPartition, 200), key(keyEntry, 200, 7),
		pendingKey(500, 11, testID), key(keyOwner, 500))
	fmt.Fprintf(&sb, "key live %x\nkey replaced %x\nkey data %x\n", liveKey(11, 3, 7, 1), replacedKey(11, 3, testID), dataKey(11, 500, testID))
	fmt.Fprintf(&sb, "root %x\ntablet %x\npartition %x\nentry %x\nowner %x\n",
		root.encode(), tab.encode(), par.encode(), entry.encode(), encodeOwner(4))
	fmt.Fprintf(&sb, "key removed %x\nremoved %x\n", key(keyRemoved, 11, 700), encodeRemoved(200))
	lost := lostRecord{1_700_000_000_000, []PartitionVersions{{PartitionID: 200, Published: 7}}}
	fmt.Fprintf(&sb, "key lost root %x\nlost root %x\n", lostKey(testUUID), lost.encode())
	sb.Write(identity{uuid: testUUID, bootEpoch: 12, ready: true}.encode())

	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile("testdata/records.txt", []byte(sb.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/records.txt")
	if err != nil {
		t.Fatal(err)
	}
	if sb.String() != string(want) {
		t.Errorf("the format changed: got\n%s\nwant\n%s", sb.String(), want)
	}

	checkDecode(t, tab, tab.encode(), decodeTablet)
	checkOld(t, "01c801010380d095ffbc31", tabletRecord{partitionID: 200, base: 1, gen: 3, droppedMs: 1_700_000_000_000}, decodeTablet)
	checkDecode(t, par, par.encode(), decodePartition)
	checkDecode(t, entry, entry.encode(), decodeEntry)
	checkDecode(t, entryRecord{txnID: 1}, entryRecord{txnID: 1}.encode(), decodeEntry)
	checkDecode(t, root, root.encode(), decodeRoot)
	checkDecode(t, 4, encodeOwner(4), decodeOwner)
	checkDecode(t, 200, encodeRemoved(200), decodeRemoved)
	checkDecode(t, lost, lost.encode(), decodeLost)
}

func checkDecode[T any](t *testing.T, want T, b []byte, decode func([]byte) (T, error)) {
	t.Helper()
	if got, err := decode(b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for i := range b {
		if _, err := decode(b[:i]); err == nil {
			t.Errorf("%T cut at %d: no error", want, i)
		}
	}
	newer := append([]byte{b[0] + 1}, b[1:]...)
	for _, bad := range [][]byte{append(bytes.Clone(b), 0), newer} {
		if _, err := decode(bad); err == nil {
			t.Errorf("%T %x: no error", want, bad)
		}
	}
}

// checkOld reads a record that an earlier build wrote.
func checkOld[T any](t *testing.T, old string, want T, decode func([]byte) (T, error)) {
	t.Helper()
	b, err := hex.DecodeString(old)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decode(b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, %v, want %+v", old, got, err, want)
	}
}

func TestUUID(t *testing.T) {
	if u, err := ParseUUID(testUUID.String()); err != nil || u != testUUID {
		t.Errorf("%s: %v", u, err)
	}
	for _, s := range []string{"", "6f1c0d9e", strings.ToUpper(testUUID.String()), testUUID.String() + "0", strings.ReplaceAll(testUUID.String(), "-", "")} {
		if _, err := ParseUUID(s); err == nil {
			t.Errorf("%q: no error", s)
		}
	}
}

func TestPrefixEnd(t *testing.T) {
	for in, want := range map[string]string{"a": "b", "a\xff": "b", "a\x00": "a\x01"} {
		if got := string(prefixEnd([]byte(in))); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func FuzzIdentity(f *testing.F) {
	f.Add(identity{uuid: testUUID, bootEpoch: 12, ready: true}.encode())
	f.Add([]byte(identityMagic + "2\nwhatever"))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, err := decodeIdentity(b)
		if err == nil && !bytes.Equal(id.encode(), b) {
			t.Errorf("%q was read as %+v", b, id)
		}
	})
}

func FuzzEntry(f *testing.F) {
	f.Add(entryRecord{txnID: 500, rowsets: []PublishTablet{{TabletID: 11, RowsetID: testID}}}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeEntry(b)
		if err != nil {
			return
		}
		if again, err := decodeEntry(r.encode()); err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%x: %+v, %v", b, again, err)
		}
	})
}
