package mysql

import (
	"encoding/binary"
	"math"
	"strconv"

	proto "github.com/go-mysql-org/go-mysql/mysql"

	"dorisgo/doriserr"
)

// width is the number of bytes of a value of the type: 0 for NULL, -1 for a
// length-encoded string, -2 for a date or time with one byte of length.
func (t ParamType) width() (int, bool) {
	switch t.Type {
	case proto.MYSQL_TYPE_NULL:
		return 0, true
	case proto.MYSQL_TYPE_TINY, 244: // 244 is the C library's bool
		return 1, true
	case proto.MYSQL_TYPE_SHORT, proto.MYSQL_TYPE_YEAR:
		return 2, true
	case proto.MYSQL_TYPE_INT24, proto.MYSQL_TYPE_LONG, proto.MYSQL_TYPE_FLOAT:
		return 4, true
	case proto.MYSQL_TYPE_LONGLONG, proto.MYSQL_TYPE_DOUBLE:
		return 8, true
	case proto.MYSQL_TYPE_DATE, proto.MYSQL_TYPE_NEWDATE, proto.MYSQL_TYPE_TIME, proto.MYSQL_TYPE_DATETIME,
		proto.MYSQL_TYPE_TIMESTAMP:
		return -2, true
	case proto.MYSQL_TYPE_DECIMAL, proto.MYSQL_TYPE_NEWDECIMAL, proto.MYSQL_TYPE_VARCHAR, proto.MYSQL_TYPE_BIT,
		proto.MYSQL_TYPE_JSON, proto.MYSQL_TYPE_ENUM, proto.MYSQL_TYPE_SET, proto.MYSQL_TYPE_GEOMETRY,
		proto.MYSQL_TYPE_TINY_BLOB, proto.MYSQL_TYPE_MEDIUM_BLOB, proto.MYSQL_TYPE_LONG_BLOB, proto.MYSQL_TYPE_BLOB,
		proto.MYSQL_TYPE_VAR_STRING, proto.MYSQL_TYPE_STRING:
		return -1, true
	}
	return 0, false
}

// next takes the bytes of one value of the type, without its length.
func (c *cursor) next(t ParamType) ([]byte, error) {
	n, ok := t.width()
	if !ok {
		return nil, malformed("parameter type " + strconv.Itoa(int(t.Type)) + " is unknown")
	}
	var p []byte
	switch n {
	case -1:
		p = c.lenBytes()
	case -2:
		p = c.bytes(int(c.uint8()))
		if !c.bad && !t.validTime(len(p)) {
			return nil, malformed("a date or time has a wrong length")
		}
	default:
		p = c.bytes(n)
	}
	if c.bad {
		return nil, malformed("parameter values are cut short")
	}
	return p, nil
}

func (t ParamType) validTime(n int) bool {
	if t.Type == proto.MYSQL_TYPE_TIME {
		return n == 0 || n == 8 || n == 12
	}
	return n == 0 || n == 4 || n == 7 || n == 11
}

// check walks over all values.
func (a *ExecuteArgs) check() error {
	cur := cursor{b: a.Values}
	for i, t := range a.Types {
		if _, long := a.LongData[i]; long || a.Null(i) {
			continue
		}
		if _, err := cur.next(t); err != nil {
			return err
		}
	}
	return nil
}

// Literals calls yield for each parameter with its SQL literal, which is
// valid until the next call: NULL, a number, or a text in single quotes with
// quotes doubled and backslashes too (unless noBackslash, for the SQL mode
// NO_BACKSLASH_ESCAPES). It serves statements that have no binary way, where
// the literal goes in the place of the `?`.
func (a *ExecuteArgs) Literals(noBackslash bool, yield func(i int, literal []byte) error) error {
	cur := cursor{b: a.Values}
	var buf []byte
	for i, t := range a.Types {
		buf = buf[:0]
		if long, ok := a.LongData[i]; ok {
			buf = appendQuoted(buf, long, noBackslash)
		} else if a.Null(i) {
			buf = append(buf, "NULL"...)
		} else {
			p, err := cur.next(t)
			if err != nil {
				return err
			}
			if buf, err = appendLiteral(buf, t, p, noBackslash); err != nil {
				return err
			}
		}
		if err := yield(i, buf); err != nil {
			return err
		}
	}
	return nil
}

// Substitute appends sql to dst with each `?` outside of strings, quoted names
// and comments replaced by its parameter's literal.
func (a *ExecuteArgs) Substitute(dst, sql []byte, noBackslash bool) ([]byte, error) {
	at := 0
	err := a.Literals(noBackslash, func(_ int, literal []byte) error {
		i := nextMark(sql, at, '?', noBackslash)
		if i < 0 {
			return doriserr.New(doriserr.Internal, "more parameters than placeholders")
		}
		dst = append(append(dst, sql[at:i]...), literal...)
		at = i + 1
		return nil
	})
	return append(dst, sql[at:]...), err
}

// Placeholders is the number of `?` in sql outside of strings, quoted names and
// comments.
func Placeholders(sql []byte, noBackslash bool) int {
	n := 0
	for i := nextMark(sql, 0, '?', noBackslash); i >= 0; i = nextMark(sql, i+1, '?', noBackslash) {
		n++
	}
	return n
}

func appendLiteral(b []byte, t ParamType, p []byte, noBackslash bool) ([]byte, error) {
	switch t.Type {
	case proto.MYSQL_TYPE_NULL:
		return append(b, "NULL"...), nil
	case proto.MYSQL_TYPE_FLOAT:
		return appendFloat(b, float64(math.Float32frombits(binary.LittleEndian.Uint32(p))), 32)
	case proto.MYSQL_TYPE_DOUBLE:
		return appendFloat(b, math.Float64frombits(binary.LittleEndian.Uint64(p)), 64)
	case proto.MYSQL_TYPE_DECIMAL, proto.MYSQL_TYPE_NEWDECIMAL:
		if decimalText(p) {
			return append(b, p...), nil
		}
		return appendQuoted(b, p, noBackslash), nil
	case proto.MYSQL_TYPE_TIME:
		return appendTime(b, p), nil
	}
	switch n, _ := t.width(); n {
	case -1:
		return appendQuoted(b, p, noBackslash), nil
	case -2:
		return appendDate(b, p, t.Type != proto.MYSQL_TYPE_DATE && t.Type != proto.MYSQL_TYPE_NEWDATE), nil
	}
	var u uint64
	for i, x := range p {
		u |= uint64(x) << (8 * i)
	}
	if t.Unsigned {
		return strconv.AppendUint(b, u, 10), nil
	}
	unused := 64 - 8*len(p)
	return strconv.AppendInt(b, int64(u<<unused)>>unused, 10), nil
}

func appendFloat(b []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, doriserr.New(doriserr.OutOfRange, "a parameter is not a finite number")
	}
	return strconv.AppendFloat(b, f, 'e', -1, bits), nil
}

// decimalText reports whether p is digits with at most a sign and a point, and
// hence safe as it is.
func decimalText(p []byte) bool {
	digits, points := 0, 0
	for i, x := range p {
		switch {
		case x >= '0' && x <= '9':
			digits++
		case x == '.':
			points++
		case (x == '-' || x == '+') && i == 0:
		default:
			return false
		}
	}
	return digits > 0 && points <= 1
}

func appendQuoted(b, p []byte, noBackslash bool) []byte {
	b = append(b, '\'')
	for _, x := range p {
		if x == '\'' || x == '\\' && !noBackslash {
			b = append(b, x)
		}
		b = append(b, x)
	}
	return append(b, '\'')
}

// appendDate appends a date or, with clock, a date and time, in quotes.
func appendDate(b, p []byte, clock bool) []byte {
	var f [11]byte
	copy(f[:], p)
	b = append(b, '\'')
	b = appendPadded(b, int(f[0])|int(f[1])<<8, 4)
	b = appendPadded(append(b, '-'), int(f[2]), 2)
	b = appendPadded(append(b, '-'), int(f[3]), 2)
	if clock {
		b = appendPadded(append(b, ' '), int(f[4]), 2)
		b = appendClock(b, f[5], f[6], binary.LittleEndian.Uint32(f[7:]))
	}
	return append(b, '\'')
}

// appendTime appends a TIME, whose days become hours.
func appendTime(b, p []byte) []byte {
	var f [12]byte
	copy(f[:], p)
	b = append(b, '\'')
	if f[0] != 0 {
		b = append(b, '-')
	}
	b = appendPadded(b, 24*int(binary.LittleEndian.Uint32(f[1:]))+int(f[5]), 2)
	b = appendClock(b, f[6], f[7], binary.LittleEndian.Uint32(f[8:]))
	return append(b, '\'')
}

func appendClock(b []byte, minute, second byte, micros uint32) []byte {
	b = appendPadded(append(b, ':'), int(minute), 2)
	b = appendPadded(append(b, ':'), int(second), 2)
	if micros > 0 {
		b = appendPadded(append(b, '.'), int(micros), 6)
	}
	return b
}

func appendPadded(b []byte, n, width int) []byte {
	for limit := 1; width > 1; width-- {
		if limit *= 10; n < limit {
			for range width - 1 {
				b = append(b, '0')
			}
			break
		}
	}
	return strconv.AppendInt(b, int64(n), 10)
}
