package insert

import (
	"testing"
	"time"

	"dorisgo/block"
)

// fuzzTarget reaches every type.
func fuzzTarget(t *testing.T, strict bool) *Target {
	g, err := NewTarget(wide, nil, testNow, time.UTC, strict)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// checkBlock verifies that a statement counted its rows and that a failed one
// left nothing.
func checkBlock(t *testing.T, b *block.Block, base int, r Result, err error) {
	t.Helper()
	want := base + r.Loaded
	if err != nil {
		want = base
	}
	for i := range b.NumCols() {
		if b.Rows() != want || b.Col(i).Len() != want {
			t.Fatalf("%d rows, column %d has %d, want %d (%v)", b.Rows(), i, b.Col(i).Len(), want, err)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{
		"insert into t values (1,2,3,4,5,6.5,7.25,'2024-01-01','2024-01-01 1:2:3','x','{}')",
		"insert into d.t () values (null,-1,x'01',0x1F,1e3,.5,2.,date'2024-01-01',now(),concat('a',1),default);",
		"INSERT INTO t VALUES (),(1,'\\'", "insert into t partition(p) with label l (b,t) values (true,'1')--",
		"insert into t values (-(1+2)*3/0%1,,)", "insert into t (a) select 1",
	} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(7))
	}
	f.Fuzz(func(t *testing.T, sql []byte, mode uint8) {
		h, err := ParseHeader(sql)
		if err != nil || h.Select {
			return
		}
		if h.ValuesPos > len(sql) {
			t.Fatalf("values at %d of %d", h.ValuesPos, len(sql))
		}
		d := Decoder{NoBackslashEscapes: mode&1 != 0, Expressions: mode&2 != 0, MultiStatements: mode&4 != 0}
		g := fuzzTarget(t, mode&8 == 0)
		b := block.New(types(wide))
		r, err := d.Text([]byte("()"), 0, g, b)
		checkBlock(t, b, 0, r, err)
		r, err = d.Text(sql, h.ValuesPos, g, b)
		checkBlock(t, b, 1, r, err)
		_, _ = Prepare(sql, d.NoBackslashEscapes)
	})
}

func FuzzParams(f *testing.F) {
	pk := &packet{}
	pk.long(1)
	pk.nul()
	pk.str("12")
	pk.double(2)
	pk.add(typeDateTime, 0, 4, 0xe8, 7, 1, 1)
	f.Add(pk.bytes(), uint8(5))
	f.Add(pk.again(), uint8(5))
	f.Add([]byte{0, 1, 0xfe, 0x80, 0xfc, 1, 0, 'x'}, uint8(1))
	f.Fuzz(func(t *testing.T, body []byte, n uint8) {
		var p Params
		width := len(wide.Columns)
		count := int(n) % 40
		if err := p.Parse(body, count, [][]byte{nil, []byte("long")}); err != nil {
			return
		}
		var sql []byte
		for i := range count {
			switch {
			case i == 0:
				sql = append(sql, "(?"...)
			case i%width == 0:
				sql = append(sql, "),(?"...)
			default:
				sql = append(sql, ",?"...)
			}
		}
		sql = append(sql, ')')
		b := block.New(types(wide))
		var d Decoder
		r, err := d.Binary(sql, 0, &p, fuzzTarget(t, n&64 == 0), b)
		checkBlock(t, b, 0, r, err)
		_, _ = p.AppendSQL(nil, sql, false)
	})
}
