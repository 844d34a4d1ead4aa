package duck

import (
	"fmt"
	"path/filepath"
	"testing"

	"dorisgo/block"
)

func BenchmarkHotQuery(b *testing.B) {
	d, _ := open(b)
	for _, n := range []int{1, 1000, 100_000} {
		rows := strings2(n, func(i int) (int64, string) { return int64(i), fmt.Sprintf("a name that is long %d", i) })
		in := []TableInput{{Name: "t", Columns: keyed, Blocks: []*block.Block{rows}}}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				single(b, d, &Query{SQL: "SELECT count(*) FROM t WHERE k >= 0", Tables: in})
			}
		})
	}
}

func BenchmarkFileQuery(b *testing.B) {
	d, dir := open(b)
	path := filepath.Join(dir, "x.parquet")
	rows := strings2(100_000, func(i int) (int64, string) { return int64(i), fmt.Sprintf("a name that is long %d", i) })
	if _, err := d.WriteParquet(b.Context(), path, keyed, sequence([]*block.Block{rows}), []int{0}); err != nil {
		b.Fatal(err)
	}
	in := []TableInput{{Name: "t", Columns: keyed, Files: []File{{Path: path}}}}
	for _, sql := range []string{"SELECT count(*) FROM t", "SELECT k, s FROM t WHERE k = 77777", "SELECT k, s FROM t"} {
		b.Run(sql, func(b *testing.B) {
			for b.Loop() {
				mustAll(b, d, &Query{SQL: sql, Tables: in})
			}
		})
	}
}

func BenchmarkWriteParquet(b *testing.B) {
	d, dir := open(b)
	for _, n := range []int{100, 1_000_000} {
		rows := strings2(n, func(i int) (int64, string) { return int64(i * 7919 % n), fmt.Sprintf("a name that is long %d", i) })
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				i++
				if _, err := d.WriteParquet(b.Context(), filepath.Join(dir, fmt.Sprintf("%d-%d", n, i)), keyed, sequence([]*block.Block{rows}), []int{0}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		d, err := Open(Options{})
		if err != nil {
			b.Fatal(err)
		}
		d.Close()
	}
}

func BenchmarkPrepared(b *testing.B) {
	d, _ := open(b, func(o *Options) { o.Threads = 1 })
	p := prepared(b, d, "TRY(s || '-' || k)", "TRY(TRY_CAST(s AS DOUBLE) * 2)")
	for _, n := range []int{1, 64, 256, 1024, 4096} {
		in := pairs(n, func(i int) (string, int64, bool) { return fmt.Sprint(i), int64(i), false })
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := p.Run(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
