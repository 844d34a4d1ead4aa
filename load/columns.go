package load

import (
	"strings"

	"dorisgo/doriserr"
)

// Derived is a column that is computed: an entry `column = expression` of the
// columns header.
type Derived struct {
	Column, Expr string
}

// ParseColumns reads the columns header: source names in file order, plain or
// in back quotes, matched without case, and columns with an expression. Names is
// nil if there are expressions alone: the sources are the table's columns then,
// as in Doris. What the expressions say is looked at by NewMapping.
func ParseColumns(header string) (names []string, derived []Derived, err error) {
	seen, given := make(map[string]bool), make(map[string]bool)
	for more := true; more; {
		var part string
		part, header, more = cutColumn(header)
		name, expr, isExpr, err := columnEntry(part)
		if err != nil {
			return nil, nil, err
		}
		in := seen
		if isExpr {
			in = given
			derived = append(derived, Derived{name, expr})
		} else {
			names = append(names, name)
		}
		key := strings.ToLower(name)
		if in[key] {
			return nil, nil, doriserr.New(doriserr.Analysis, "Duplicate column in header `columns`: %s", name)
		}
		in[key] = true
	}
	return names, derived, nil
}

// cutColumn splits at the first comma outside quotes and parentheses.
func cutColumn(s string) (part, rest string, more bool) {
	depth := 0
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == '\\' && quote != '`' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '`' || c == '\'' || c == '"':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// columnEntry reads a name, or a name and its expression.
func columnEntry(part string) (name, expr string, isExpr bool, err error) {
	s := strings.TrimSpace(part)
	switch {
	case s == "":
		return "", "", false, badColumns(part)
	case s[0] == '`':
		end := strings.IndexByte(s[1:], '`')
		if end < 1 {
			return "", "", false, badColumns(part)
		}
		name, s = s[1:end+1], strings.TrimSpace(s[end+2:])
	default:
		end := strings.IndexByte(s, '=')
		if end < 0 {
			end = len(s)
		}
		name, s = strings.TrimSpace(s[:end]), s[end:]
		if name == "" || strings.ContainsAny(name, "`'\"() \t") {
			return "", "", false, badColumns(part)
		}
	}
	if s == "" {
		return name, "", false, nil
	}
	if s[0] != '=' {
		return "", "", false, badColumns(part)
	}
	if expr = strings.TrimSpace(s[1:]); expr == "" {
		return "", "", false, badColumns(part)
	}
	return name, expr, true, nil
}

func badColumns(part string) error {
	return doriserr.New(doriserr.Analysis, "Invalid header `columns`: expected column names or name=expression separated by commas, found %q", part)
}
