package insert

import (
	"bytes"

	"dorisgo/block"
	"dorisgo/sql/token"
	"dorisgo/value"
)

// value reads one value and appends it to c.
func (d *Decoder) value(c *block.Column) error {
	switch b := d.skip(); {
	case b == '\'' || b == '"':
		return d.quoted(c)
	case b-'0' < 10 || b == '-' || b == '+' || b == '.':
		return d.number(c)
	case b == '?' && d.params != nil:
		if !d.ends(d.pos + 1) {
			return d.expression(c)
		}
		d.pos++
		return d.param(c)
	case token.IsWordByte(b):
		return d.word(c)
	case b == ')' || b == ',':
		return d.syntax("expression")
	}
	return d.expression(c)
}

// ends reports whether the value ends at p: a comma or parenthesis follows.
func (d *Decoder) ends(p int) bool {
	if p < len(d.src) && (d.src[p] == ',' || d.src[p] == ')') {
		return true
	}
	p, ok := token.SkipBlank(d.src, p)
	return !ok || p == len(d.src) || d.src[p] == ',' || d.src[p] == ')'
}

// text appends b by the rules of the column's type.
func (d *Decoder) text(c *block.Column, b []byte) error {
	return c.AppendText(b, &d.target.opts)
}

// null appends NULL if the column may have it.
func (d *Decoder) null(c *block.Column) error {
	if !d.target.table.Columns[d.at].Nullable {
		return errNull
	}
	c.AppendNull()
	return nil
}

// quoted reads a string literal.
func (d *Decoder) quoted(c *block.Column) error {
	start := d.pos
	body, end, plain := d.plainString(start)
	if end < 0 {
		return d.syntax("string")
	}
	if !d.ends(end) {
		return d.expression(c)
	}
	d.pos = end
	if !plain {
		d.scratch = token.Unquote(d.scratch[:0], d.src[start:end], d.NoBackslashEscapes)
		body = d.scratch
	}
	return d.text(c, body)
}

// plainString finds the end of the string at p, -1 without one. plain says
// that body, the bytes between the quotes, is its text.
func (d *Decoder) plainString(p int) (body []byte, end int, plain bool) {
	rest := d.src[p+1:]
	n := bytes.IndexByte(rest, d.src[p])
	if n < 0 {
		return nil, -1, false
	}
	body = rest[:n]
	if (n+1 == len(rest) || rest[n+1] != d.src[p]) &&
		(d.NoBackslashEscapes || bytes.IndexByte(body, '\\') < 0) {
		return body, p + n + 2, true
	}
	return nil, token.StringEnd(d.src, p, d.NoBackslashEscapes), false
}

// number reads a number literal with an optional sign.
func (d *Decoder) number(c *block.Column) error {
	src, p := d.src, d.pos
	if src[p] == '-' || src[p] == '+' {
		p++
	}
	digits := p
	var v int64
	for p < len(src) && src[p]-'0' < 10 {
		v = v*10 + int64(src[p]-'0')
		p++
	}
	if n := p - digits; n == 0 || n > 18 || !d.ends(p) {
		return d.longNumber(c, digits)
	}
	if src[d.pos] == '-' {
		v = -v
	}
	if k := c.Type().Kind; k >= value.TinyInt && k <= value.BigInt && value.InIntegerRange(v, k) {
		d.pos = p
		c.AppendInt64(v)
		return nil
	}
	return d.appendNumber(c, digits, p)
}

// longNumber reads what number leaves over: points, exponents, long digits,
// hexadecimal, and expressions.
func (d *Decoder) longNumber(c *block.Column, digits int) error {
	l := token.Lexer{Src: d.src, Pos: digits}
	t := l.Next()
	if t.Pos != digits || !d.ends(t.End) {
		return d.expression(c)
	}
	switch t.Kind {
	case token.Integer, token.Number:
		return d.appendNumber(c, digits, t.End)
	case token.HexNumber:
		if digits == d.pos {
			d.pos = t.End
			return d.hex(c, d.src[t.Pos+2:t.End])
		}
	}
	return d.expression(c)
}

// appendNumber appends the number whose digits lie between, with the sign
// before them.
func (d *Decoder) appendNumber(c *block.Column, digits, end int) error {
	neg := d.src[d.pos] == '-'
	start := digits
	if neg {
		start = d.pos
	}
	d.pos = end
	if !c.Type().IsVar() {
		return d.text(c, d.src[start:end])
	}
	d.scratch = appendPlain(d.scratch[:0], d.src[digits:end], neg)
	return d.text(c, d.scratch)
}

// appendPlain appends the text that a number literal has as a string: no
// leading zeros, a digit before the point, no exponent unless it is large.
func appendPlain(dst, lit []byte, neg bool) []byte {
	if bytes.IndexByte(lit, 'e') >= 0 || bytes.IndexByte(lit, 'E') >= 0 {
		if v, err := value.ParseFloat(lit, value.Double); err == nil {
			if neg {
				v = -v
			}
			return value.AppendFloat(dst, v, value.Double)
		}
	}
	for len(lit) > 1 && lit[0] == '0' && lit[1] != '.' {
		lit = lit[1:]
	}
	lit = bytes.TrimSuffix(lit, []byte("."))
	if neg && !(len(lit) == 1 && lit[0] == '0') {
		dst = append(dst, '-')
	}
	if lit[0] == '.' {
		dst = append(dst, '0')
	}
	return append(dst, lit...)
}

// hex appends the bytes of a hexadecimal literal to strings, its number to
// every other type.
func (d *Decoder) hex(c *block.Column, digits []byte) error {
	out := d.scratch[:0]
	if len(digits)%2 == 1 {
		out = append(out, unhex(digits[0]))
		digits = digits[1:]
	}
	for i := 0; i+1 < len(digits); i += 2 {
		out = append(out, unhex(digits[i])<<4|unhex(digits[i+1]))
	}
	d.scratch = out
	if c.Type().IsVar() {
		return d.text(c, out)
	}
	number := bytes.TrimLeft(out, "\x00")
	if len(number) > 15 {
		return value.NewConvError(value.OutOfRange, c.Type(), digits)
	}
	var v value.Int128
	for _, b := range number {
		v = value.Int128{Hi: v.Hi<<8 | int64(v.Lo>>56), Lo: v.Lo<<8 | uint64(b)}
	}
	d.scratch = value.AppendInt128(out[:0], v)
	return d.text(c, d.scratch)
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}

func isHexText(b []byte) bool {
	for _, c := range b {
		if c-'0' > 9 && (c|0x20)-'a' > 5 {
			return false
		}
	}
	return true
}
