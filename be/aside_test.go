package be

import (
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/groupcommit/wal"
)

func TestFilesSetAsideAreReported(t *testing.T) {
	fsys := vfs.NewMem()
	if err := fsys.MkdirAll("/wal/tmp", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"1_2_1_10001_77_group_commit_0a_0b.1700000000." + string(wal.Damaged),
		"1_2_1_10001_78_group_commit_0a_0c.1700000000." + string(wal.Torn),
		"1_2_1_10001_79_group_commit_0a_0d.1700000000." + string(wal.Erased),
		"1_2_1_10001_80_group_commit_0a_0e.1700000000." + string(wal.Unknown),
		"notes.txt",
	} {
		f, err := fsys.Create("/wal/tmp/"+name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	got, err := setAside(fsys, []string{"/wal", "/other"})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if !slices.Equal(got, []int64{77, 80}) {
		t.Errorf("got %v, want 77 and 80", got)
	}
}
