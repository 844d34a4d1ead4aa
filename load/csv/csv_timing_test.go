package csv

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

const lineitem = "l_orderkey INT NOT NULL, l_partkey INT NOT NULL, l_suppkey INT NOT NULL, l_linenumber INT NOT NULL, " +
	"l_quantity DECIMAL(15,2) NOT NULL, l_extendedprice DECIMAL(15,2) NOT NULL, l_discount DECIMAL(15,2) NOT NULL, l_tax DECIMAL(15,2) NOT NULL, " +
	"l_returnflag CHAR(1) NOT NULL, l_linestatus CHAR(1) NOT NULL, l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL, " +
	"l_shipinstruct CHAR(25) NOT NULL, l_shipmode CHAR(10) NOT NULL, l_comment VARCHAR(44) NOT NULL"

func lineitemBody(rows int) []byte {
	var b bytes.Buffer
	for i := range rows {
		fmt.Fprintf(&b, "%d|%d|%d|%d|%d|%d.%02d|0.0%d|0.0%d|N|O|1996-%02d-%02d|1996-%02d-%02d|1996-%02d-%02d|DELIVER IN PERSON|TRUCK|egular courts above the carefully\n",
			i/4+1, 155190+i%1000, 7706+i%100, i%4+1, i%50+1, 21168+i%5000, i%100, i%10, i%8, i%12+1, i%28+1, i%12+1, i%27+1, i%12+1, i%26+1)
	}
	return b.Bytes()
}

func benchmark(b *testing.B, columns string, body []byte, o Options) {
	m, err := load.NewMapping(loadtest.Table(b, columns), load.MappingOptions{})
	if err != nil {
		b.Fatal(err)
	}
	blk := block.New(m.Types())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		in := load.NewInput(bytes.NewReader(body), int64(len(body)), 0)
		d := NewDecoder(in, m.Fields(), o)
		r := load.NewRows(m, load.RowOptions{StopEarly: true})
		r.Start(blk)
		for {
			blk.Reset()
			if err := d.Decode(r, 8<<20); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
		if c := r.Counts(); c.Filtered != 0 {
			b.Fatal(r.FirstError())
		}
		in.Close()
	}
}

func BenchmarkLineitem(b *testing.B) {
	benchmark(b, lineitem, lineitemBody(100000), Options{Separator: "|"})
}

func BenchmarkLineitemEnclose(b *testing.B) {
	benchmark(b, lineitem, lineitemBody(100000), Options{Separator: "|", Enclose: '"'})
}

func BenchmarkSmall(b *testing.B) {
	benchmark(b, loadtest.T3, []byte("6,Amy,60\n7,Ross,98\n"), Options{Separator: ","})
}

func BenchmarkLog(b *testing.B) {
	line := []byte("893964617|211.11.9.0|GET /images/hm_bg.jpg HTTP/1.0|200|24736\n")
	benchmark(b, "ts INT, ip VARCHAR(20), request STRING, status SMALLINT, size INT", bytes.Repeat(line, 200000), Options{Separator: "|"})
}
