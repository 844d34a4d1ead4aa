package insert

import (
	"dorisgo/doriserr"
	"dorisgo/sql/token"
	"dorisgo/value"
)

// AppendSQL appends sql with each question mark replaced by its parameter as a
// literal: how statements that are no plain INSERT ... VALUES are executed.
// noBackslash is the SQL mode NO_BACKSLASH_ESCAPES in which sql is read.
func (p *Params) AppendSQL(dst, sql []byte, noBackslash bool) ([]byte, error) {
	p.rewind()
	l := token.Lexer{Src: sql, NoBackslash: noBackslash}
	done := 0
	for {
		t := l.Next()
		if t.Kind == token.EOF || t.Kind == token.Unterminated {
			break
		}
		if t.Kind != token.Param {
			continue
		}
		pt, b, ok := p.next()
		if !ok {
			return nil, malformed("the statement has more parameters than the packet")
		}
		dst = append(dst, sql[done:t.Pos]...)
		var err error
		if dst, err = appendLiteral(dst, pt, b, noBackslash); err != nil {
			return nil, err
		}
		done = t.End
	}
	return append(dst, sql[done:]...), nil
}

func appendLiteral(dst []byte, t ParamType, b []byte, noBackslash bool) ([]byte, error) {
	switch {
	case t.Type == typeNull:
		return append(dst, "NULL"...), nil
	case isIntegerType(t.Type):
		return appendNumberText(dst, appendParam(nil, t, b)), nil
	case t.Type == typeFloat, t.Type == typeDouble:
		v := floatParam(t.Type, b)
		if v-v != 0 {
			return nil, doriserr.New(doriserr.OutOfRange, "a parameter is no finite number")
		}
		return appendNumberText(dst, appendParam(nil, t, b)), nil
	case t.Type == typeDecimal, t.Type == typeJSON+1:
		if _, err := value.ParseFloat(b, value.Double); err == nil && len(b) > 0 && b[len(b)-1]-'0' < 10 {
			return appendNumberText(dst, b), nil
		}
	}
	return token.AppendString(dst, appendParam(nil, t, b), noBackslash), nil
}

// appendNumberText appends a number without blanks before it. A minus sign is
// set off, so that it makes no comment with one that stands before.
func appendNumberText(dst, b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	if len(b) > 0 && b[0] == '-' {
		dst = append(dst, ' ')
	}
	return append(dst, b...)
}
