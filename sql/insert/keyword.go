package insert

import (
	"dorisgo/block"
	"dorisgo/sql/token"
	"dorisgo/value"
)

// word reads a value that starts with a letter: NULL, TRUE, FALSE, DEFAULT,
// X'..', DATE'..', TIMESTAMP'..', or an expression.
func (d *Decoder) word(c *block.Column) error {
	l := token.Lexer{Src: d.src, Pos: d.pos, NoBackslash: d.NoBackslashEscapes}
	t := l.Next()
	if t.Kind == token.HexString {
		return d.hexString(c, t)
	}
	w := d.src[t.Pos:t.End]
	if !d.ends(t.End) {
		if token.EqualFold(w, "DATE") || token.EqualFold(w, "TIMESTAMP") || token.EqualFold(w, "DATETIME") {
			return d.temporal(c, &l, len(w) == len("DATE"))
		}
		return d.expression(c)
	}
	switch {
	case token.EqualFold(w, "NULL"):
		d.pos = t.End
		return d.null(c)
	case token.EqualFold(w, "TRUE"):
		d.pos = t.End
		return d.text(c, []byte{'1'})
	case token.EqualFold(w, "FALSE"):
		d.pos = t.End
		return d.text(c, []byte{'0'})
	case token.EqualFold(w, "DEFAULT"):
		d.pos = t.End
		return d.defaultValue(c)
	}
	return d.expression(c)
}

func (d *Decoder) hexString(c *block.Column, t token.Token) error {
	digits := d.src[t.Pos+2 : t.End-1]
	if len(digits)%2 == 1 || !isHexText(digits) {
		return d.syntax("an even number of hexadecimal digits")
	}
	if !d.ends(t.End) {
		return d.expression(c)
	}
	d.pos = t.End
	return d.hex(c, digits)
}

// temporal reads the string of DATE'..' or TIMESTAMP'..'. The literal must be
// a date whatever the column's type is; a string column gets its plain form.
func (d *Decoder) temporal(c *block.Column, l *token.Lexer, date bool) error {
	t := l.Next()
	if t.Kind != token.String || !d.ends(t.End) {
		return d.expression(c)
	}
	d.pos = t.End
	d.scratch = token.Unquote(d.scratch[:0], d.src[t.Pos:t.End], d.NoBackslashEscapes)
	n := len(d.scratch)
	if date {
		days, err := value.ParseDate(d.scratch)
		if err != nil {
			return err
		}
		d.scratch = value.AppendDate(d.scratch, days)
	} else {
		micros, err := value.ParseDateTime(d.scratch, value.MaxDateTimeScale, d.target.opts.Loc)
		if err != nil {
			return err
		}
		d.scratch = value.AppendDateTime(d.scratch, micros, fractionDigits(micros))
	}
	return d.text(c, d.scratch[n:])
}

// fractionDigits is how many digits show micros in full: 0 or 6.
func fractionDigits(micros int64) uint8 {
	if micros%1e6 == 0 {
		return 0
	}
	return value.MaxDateTimeScale
}

// defaultValue is the keyword DEFAULT.
func (d *Decoder) defaultValue(c *block.Column) error {
	def := &d.target.table.Columns[d.at]
	if !hasDefault(def) {
		return noDefault(def)
	}
	return d.target.appendFill(c, d.at)
}
