package bulkload

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkCut is the first pass over a file: cutting, hashing, checking UTF-8.
func BenchmarkCut(b *testing.B) {
	var rows bytes.Buffer
	for i := 0; rows.Len() < 16<<20; i++ {
		fmt.Fprintf(&rows, "%d,\"a name of %d\",%d,\"some text, and more\"\n", i, i, i%100)
	}
	path := filepath.Join(b.TempDir(), "rows.csv")
	if err := os.WriteFile(path, rows.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
	for name, headers := range map[string]map[string]string{
		"lines":    {"column_separator": ","},
		"enclosed": {"column_separator": ",", "enclose": `"`, "escape": `\`},
		"markers":  {"column_separator": ",", "line_delimiter": "#END#"},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(rows.Len()))
			for b.Loop() {
				c := &cutter{
					form: mustForm(b, headers), table: "db.t", size: 4 << 20, utf8: true, labels: labels{prefix: "p", seen: map[labelKey]int{}},
					emit: func(context.Context, *chunk) error { return nil },
				}
				if err := c.cut(b.Context(), &Source{Name: path, Size: int64(rows.Len())}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
