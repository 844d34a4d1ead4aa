package load

import (
	"strconv"
	"strings"

	"dorisgo/sql/token"
	"dorisgo/value"
)

// simpleKind is what an expression is that needs no engine.
type simpleKind uint8

const (
	notSimple simpleKind = iota
	// constantText is a literal or the request's time.
	constantText
	constantNull
	// columnDefault is the word DEFAULT.
	columnDefault
	// sourceName is another name for a source field.
	sourceName
)

// simple looks at an expression: most of those in loads are a literal, a name,
// or the present time. The text is the literal's value or the name.
func (m *Mapping) simple(expr string, o *MappingOptions) (k simpleKind, text string) {
	src := []byte(expr)
	lex := token.Lexer{Src: src}
	var toks []token.Token
	for t := lex.Next(); t.Kind != token.EOF; t = lex.Next() {
		if t.Kind == token.Unterminated || len(toks) == 4 {
			return notSimple, ""
		}
		toks = append(toks, t)
	}
	str := func(t token.Token) string { return string(src[t.Pos:t.End]) }
	switch {
	case len(toks) == 2 && (toks[0].Is(src, '-') || toks[0].Is(src, '+')) && isNumber(toks[1]):
		return constantText, str(toks[0]) + str(toks[1])
	case len(toks) == 1 && isNumber(toks[0]):
		return constantText, str(toks[0])
	case len(toks) == 1 && toks[0].Kind == token.String:
		return constantText, string(token.Unquote(nil, src, false))
	case len(toks) == 1 && toks[0].Kind == token.Quoted:
		name := strings.Trim(str(toks[0]), "`")
		if m.sourceOf(name) < 0 {
			return notSimple, ""
		}
		return sourceName, name
	case len(toks) == 0 || toks[0].Kind != token.Word:
		return notSimple, ""
	}
	word := strings.ToUpper(str(toks[0]))
	if len(toks) == 1 {
		switch word {
		case "NULL":
			return constantNull, ""
		case "DEFAULT":
			return columnDefault, ""
		case "TRUE":
			return constantText, "1"
		case "FALSE":
			return constantText, "0"
		}
		if m.sourceOf(str(toks[0])) >= 0 {
			return sourceName, str(toks[0])
		}
	}
	scale, ok := callOfTime(src, toks)
	if !ok {
		return notSimple, ""
	}
	now := o.Now.In(o.Location)
	switch word {
	case "NOW", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP":
		return constantText, stampText(now, scale)
	case "CURDATE", "CURRENT_DATE":
		if scale == 0 {
			return constantText, now.Format("2006-01-02")
		}
	}
	return notSimple, ""
}

func isNumber(t token.Token) bool { return t.Kind == token.Integer || t.Kind == token.Number }

// callOfTime reads name, name() and name(scale). Only the standard's words may
// stand without parentheses, but a plain "now" that is no source is no constant.
func callOfTime(src []byte, toks []token.Token) (scale uint8, ok bool) {
	switch {
	case len(toks) == 1:
		return 0, !toks[0].IsWord(src, "NOW") && !toks[0].IsWord(src, "CURDATE")
	case len(toks) < 3 || !toks[1].Is(src, '(') || !toks[len(toks)-1].Is(src, ')'):
		return 0, false
	case len(toks) == 3:
		return 0, true
	case toks[2].Kind != token.Integer:
		return 0, false
	}
	n, err := strconv.Atoi(string(src[toks[2].Pos:toks[2].End]))
	return uint8(n), err == nil && n <= value.MaxDateTimeScale
}
