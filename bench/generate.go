package bench

import (
	"io"
	"math/rand/v2"
	"strconv"
)

// Value is one value: num for numbers and dates, text for strings.
type Value struct {
	num  int64
	text []byte
}

// Row has a value for each column. Its texts are valid until the next row.
type Row []Value

// Generator makes the rows of a table: the same seed gives the same rows.
type Generator struct {
	t   *Table
	rng *rand.Rand
	n   int64 // rows made
	row Row
	// order and line are the open order of the lineitem-like table.
	order, line, lines int64
	ordered            int64 // its date
}

// NewGenerator starts the row sequence of a seed.
func NewGenerator(t *Table, seed uint64) *Generator {
	return &Generator{t: t, rng: rand.New(rand.NewPCG(seed, uint64(len(t.columns)))), row: make(Row, len(t.columns))}
}

// Next makes the next row. It is valid until the next call.
func (g *Generator) Next() Row {
	g.t.fill(g, g.row)
	g.n++
	return g.row
}

// between is a number from lo to hi, both included.
func (g *Generator) between(lo, hi int64) int64 { return lo + g.rng.Int64N(hi-lo+1) }

func (g *Generator) pick(words []string) string { return words[g.rng.IntN(len(words))] }

func (v *Value) set(s string) { v.text = append(v.text[:0], s...) }

// small makes (id, name, score): ids count up, names have six letters.
func (g *Generator) small(r Row) {
	r[0].num = g.n + 1
	b := r[1].text[:0]
	for range 6 {
		b = append(b, byte('a'+g.rng.IntN(26)))
	}
	r[1].text = b
	r[2].num = g.between(0, 100)
}

const (
	firstDay = 8035  // 1992-01-01, in days since 1970-01-01
	lastDay  = 10439 // 1998-08-01
)

var (
	instructions = []string{"CALL BEFORE DELIVERY", "LEAVE AT THE DOOR", "KEEP UPRIGHT", "NONE"}
	modes        = []string{"BARGE", "BICYCLE", "CARAVAN", "FERRY", "PARCEL", "TRAM", "WAGON"}
	words        = []string{
		"amber", "barley", "copper", "drowsy", "elder", "fallow", "garnet", "hollow", "ivory", "jovial", "kindle", "linen",
		"mellow", "nimble", "oaken", "pebble", "quarry", "rustic", "silver", "timber", "umber", "velvet", "willow", "yonder",
	}
)

// lineitem makes a line of an order; an order has one to seven.
func (g *Generator) lineitem(r Row) {
	if g.line++; g.line > g.lines {
		g.order += g.between(1, 4)
		g.line, g.lines, g.ordered = 1, g.between(1, 7), g.between(firstDay, lastDay)
	}
	part := g.between(1, 200_000)
	quantity := g.between(1, 50)
	shipped := g.ordered + g.between(1, 121)
	received := shipped + g.between(1, 30)
	r[0].num, r[1].num, r[2].num, r[3].num = g.order, part, g.between(1, 10_000), g.line
	r[4].num, r[5].num = quantity*100, quantity*(90_000+part%20_000+part/1000)
	r[6].num, r[7].num = g.between(0, 10), g.between(0, 8)
	const today = 9300 // what is received later is still open
	flag, status := "N", "O"
	if received <= today {
		flag, status = g.pick([]string{"A", "R"}), "F"
	}
	r[8].set(flag)
	r[9].set(status)
	r[10].num, r[11].num, r[12].num = shipped, g.ordered+g.between(30, 90), received
	r[13].set(g.pick(instructions))
	r[14].set(g.pick(modes))
	g.comment(&r[15], int(g.between(10, 43)))
}

var (
	folders = []string{"", "english/", "french/", "images/", "english/images/", "english/history/", "english/teams/", "images/dummy/"}
	pages   = []string{"index.html", "logo.gif", "nav_top.gif", "results.htm", "space.gif", "cal.gif", "past_host.html", "teambio.htm", "team_bg.jpg", "day.html"}
)

// weblog makes a request to the web site of a football cup, a few in a second.
func (g *Generator) weblog(r Row) {
	const opening = 893964617
	if g.n == 0 {
		g.order = opening
	}
	g.order += g.between(0, 4) / 4
	r[0].num = g.order
	b := strconv.AppendInt(r[1].text[:0], g.between(1, 223), 10)
	for range 3 {
		b = strconv.AppendInt(append(b, '.'), g.between(0, 255), 10)
	}
	r[1].text = b
	b = append(r[2].text[:0], "GET /"...)
	b = append(b, g.pick(folders)...)
	if g.between(0, 2) == 0 {
		b = strconv.AppendInt(append(b, "102"...), g.between(200, 500), 10)
		b = append(b, ".jpg"...)
	} else {
		b = append(b, g.pick(pages)...)
	}
	r[2].text = append(b, " HTTP/1.0"...)
	switch g.between(0, 9) {
	case 0, 1:
		r[3].num, r[4].num = 304, 0
	case 2:
		r[3].num, r[4].num = 404, g.between(100, 400)
	default:
		r[3].num, r[4].num = 200, g.between(50, 40_000)
	}
}

// comment fills v with words up to n bytes.
func (g *Generator) comment(v *Value, n int) {
	b := v.text[:0]
	for len(b) < n {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(b, g.pick(words)...)
	}
	v.text = b[:n]
}

// WriteJSON writes n rows as lines of JSON.
func (g *Generator) WriteJSON(w io.Writer, n int) error {
	var b []byte
	for range n {
		b = appendJSON(b[:0], g.t, g.Next())
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// WriteCSV writes n rows as lines.
func (g *Generator) WriteCSV(w io.Writer, n int) error {
	var b []byte
	for range n {
		b = appendCSV(b[:0], g.t, g.Next())
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
