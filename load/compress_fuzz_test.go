package load

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"dorisgo/doriserr"
)

// FuzzDecompress: rubbish in any packed form is an error of the data, never a
// panic; the same bytes give the same bytes wherever they are cut; the limit
// holds.
func FuzzDecompress(f *testing.F) {
	names := slices.Sorted(maps.Keys(compressions))
	for i, name := range names {
		if compressions[name] != nil {
			f.Add(pack(f, name, "1,a\n")+pack(f, name, "2,b\n"), uint8(i), uint16(3))
		}
	}
	f.Fuzz(func(t *testing.T, body string, which uint8, cut uint16) {
		name := names[int(which)%len(names)]
		if compressions[name] == nil {
			return
		}
		const limit = 1 << 20
		read := func(piece int) (string, error) {
			r, err := Decompress(name, pieces{strings.NewReader(body), piece}, limit)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			_, err = io.Copy(&out, r)
			_ = r.Close() // some close with the error that reading met
			if k := doriserr.KindOf(err); err != nil && k != doriserr.DataQuality && k != doriserr.ExceededLimit {
				t.Fatalf("%s: %v of kind %s", name, err, k)
			}
			if out.Len() > limit {
				t.Fatalf("%s: %d bytes", name, out.Len())
			}
			return out.String(), err
		}
		whole, err := read(1 << 20)
		pieces, err2 := read(int(cut) + 1)
		if (err == nil) != (err2 == nil) || err == nil && whole != pieces || errors.Is(err, io.EOF) {
			t.Errorf("%s: %d bytes, %v; cut by %d: %d bytes, %v", name, len(whole), err, cut+1, len(pieces), err2)
		}
	})
}
