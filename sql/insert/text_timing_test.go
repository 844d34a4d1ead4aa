package insert

import (
	"fmt"
	"testing"
	"time"

	"dorisgo/block"
)

// statement is an INSERT of n rows (int, varchar, int).
func statement(n int) []byte {
	sql := []byte("INSERT INTO test.t3 (id, s, n) VALUES ")
	for i := range n {
		if i > 0 {
			sql = append(sql, ", "...)
		}
		sql = fmt.Appendf(sql, "(%d, 'name%d', %d)", i, i%1000, i*7%100000)
	}
	return sql
}

// BenchmarkText is the way of a text statement into a block, header included:
// the goal is 1,000,000 rows/s on one core.
func BenchmarkText(b *testing.B) {
	for _, n := range []int{1, 100, 10000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			sql := statement(n)
			var heads Headers
			var d Decoder
			t := newTarget(b, t3, []string{"id", "s", "n"})
			out := block.New(types(t3))
			b.SetBytes(int64(len(sql)))
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				h, err := heads.Parse(sql)
				if err != nil {
					b.Fatal(err)
				}
				if err := t.Begin(testNow, time.UTC, true); err != nil {
					b.Fatal(err)
				}
				if _, err := d.Text(sql, h.ValuesPos, t, out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func BenchmarkParseHeader(b *testing.B) {
	sql := statement(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseHeader(sql); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBinary is the way of an execute packet into a block.
func BenchmarkBinary(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			sql := []byte("INSERT INTO t3 VALUES (?,?,?)")
			for range n - 1 {
				sql = append(sql, ",(?,?,?)"...)
			}
			prep, err := Prepare(sql, false)
			if err != nil {
				b.Fatal(err)
			}
			var pk packet
			for i := range n {
				pk.long(int32(i))
				pk.str(fmt.Sprintf("name%d", i%1000))
				pk.long(int32(i * 7))
			}
			body := pk.bytes()
			var p Params
			var d Decoder
			t := newTarget(b, t3, nil)
			out := block.New(types(t3))
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				if err := p.Parse(body, prep.Params, nil); err != nil {
					b.Fatal(err)
				}
				if _, err := d.Binary(prep.SQL, prep.Header.ValuesPos, &p, t, out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
