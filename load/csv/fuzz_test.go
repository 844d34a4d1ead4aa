package csv

import (
	"slices"
	"testing"

	"dorisgo/load"
	"dorisgo/load/loadtest"
)

// FuzzDecode: any cut of the bytes gives the same rows, errors and counters, and
// nothing panics.
func FuzzDecode(f *testing.F) {
	f.Add("1,a,2\n2,\"b\"\"c\",3\r\n\n\\N,,\n", ",", "\n", byte('"'), byte('\\'), uint8(3), uint8(0))
	f.Add("1|aa#END#2|bb#EN", "|", "#END#", byte(0), byte(0), uint8(1), uint8(1))
	f.Add("1#'a#'#2#END#3", "#", "#END#", byte('\''), byte('\''), uint8(5), uint8(2))
	f.Add("\xEF\xBB\xBF'a\r\n'\r\n'", "\r", "\n", byte('\''), byte('x'), uint8(1), uint8(0))
	f.Fuzz(func(t *testing.T, body, sep, eol string, enclose, escape byte, cut, skip uint8) {
		m, err := load.NewMapping(loadtest.Table(t, loadtest.T3), load.MappingOptions{})
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Separator: sep, Delimiter: eol, Enclose: enclose, Escape: escape, SkipLines: int(skip % 4)}
		run := func(sizes ...int) *loadtest.Result {
			in := load.NewInput(loadtest.Cut(body, sizes...), int64(len(body)), 0)
			defer in.Close()
			return loadtest.Run(t, m, NewDecoder(in, m.Fields(), o), 1<<10, false)
		}
		whole, pieces := run(0), run(int(cut)+1, 1)
		if whole.Err != nil || pieces.Err != nil {
			t.Fatalf("errors %v, %v", whole.Err, pieces.Err)
		}
		if !slices.Equal(whole.Rows, pieces.Rows) || !slices.Equal(whole.Errors, pieces.Errors) {
			t.Errorf("cut by %d: rows %q, errors %q, want %q, %q", cut, pieces.Rows, pieces.Errors, whole.Rows, whole.Errors)
		}
	})
}
