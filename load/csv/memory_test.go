package csv

import (
	"errors"
	"io"
	"runtime"
	"testing"

	"dorisgo/block"
	"dorisgo/load"
	"dorisgo/load/loadtest"
)

// TestMemoryIsBounded: a body of any size takes no more memory than its window
// and one block.
func TestMemoryIsBounded(t *testing.T) {
	m, err := load.NewMapping(loadtest.Table(t, loadtest.T3), load.MappingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const row, rows = "1234567,some text of a row,42\n", 1 << 18
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	in := load.NewInput(loadtest.Repeat(row, rows), -1, 0)
	defer in.Close()
	r := load.NewRows(m, load.RowOptions{})
	b := block.New(m.Types())
	d := NewDecoder(in, m.Fields(), Options{Separator: ","})
	r.Start(b)
	for err == nil {
		b.Reset()
		err = d.Decode(r, 256<<10)
		if b.Bytes() > 512<<10 {
			t.Fatalf("a block of %d bytes", b.Bytes())
		}
	}
	runtime.ReadMemStats(&after)
	if c := r.Counts(); !errors.Is(err, io.EOF) || c.Loaded != rows {
		t.Fatalf("%v, %+v", err, c)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("%d bytes were allocated for a body of %d", used, len(row)*rows)
	}
}
