package json

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"dorisgo/block"
	"dorisgo/load"
	"dorisgo/load/loadtest"
)

// BenchmarkForms reads the same rows in the forms that a body may have.
func BenchmarkForms(b *testing.B) {
	const table = "ts INT, clientip VARCHAR(20), request STRING, status SMALLINT, size INT"
	row := func(i int, request string) string {
		return fmt.Sprintf(`{"ts": %d, "clientip": "211.11.9.%d", "request": "GET %s HTTP/1.0", "status": 200, "size": %d}`, 893964617+i, i%256, request, i%40000)
	}
	body := func(between, request string) []byte {
		var w bytes.Buffer
		for i := range 50000 {
			if i > 0 {
				w.WriteString(between)
			}
			w.WriteString(row(i, request))
		}
		return w.Bytes()
	}
	plain, escaped := "/images/hm_bg.jpg", `\/images\/hm_bg.jpg`
	paths, err := ParsePaths(`["$.ts","$.clientip","$.request","$.status","$.size"]`)
	if err != nil {
		b.Fatal(err)
	}
	array := func(request string) []byte {
		return append(append([]byte("["), body(",\n", request)...), ']')
	}
	for _, bm := range []struct {
		name string
		body []byte
		o    Options
	}{
		{"lines", body("\n", plain), Options{ByLine: true}},
		{"lines with escapes", body("\n", escaped), Options{ByLine: true}},
		{"series", body("\n", plain), Options{}},
		{"array", array(plain), Options{StripOuterArray: true}},
		{"paths", body("\n", plain), Options{ByLine: true, Paths: paths}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			m, err := load.NewMapping(loadtest.Table(b, table), load.MappingOptions{})
			if err != nil {
				b.Fatal(err)
			}
			blk := block.New(m.Types())
			b.SetBytes(int64(len(bm.body)))
			b.ReportAllocs()
			for b.Loop() {
				in := load.NewInput(bytes.NewReader(bm.body), int64(len(bm.body)), 0)
				d := NewDecoder(in, m, bm.o)
				r := load.NewRows(m, load.RowOptions{StopEarly: true})
				r.Start(blk)
				for err = nil; err == nil; {
					blk.Reset()
					err = d.Decode(r, 8<<20)
				}
				if !errors.Is(err, io.EOF) || r.Counts().Filtered > 0 {
					b.Fatal(err, r.FirstError())
				}
				in.Close()
			}
		})
	}
}
