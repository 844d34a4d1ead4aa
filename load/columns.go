package load

import (
	"strings"

	"dorisgo/doriserr"
)

// ParseColumns reads the columns header: source names in file order, plain or
// in back quotes, matched without case. `name = expression` is refused by name.
func ParseColumns(header string) ([]string, error) {
	var names []string
	seen := make(map[string]bool)
	for len(header) > 0 || len(names) == 0 {
		part, rest, more := cutColumn(header)
		name, err := columnName(part)
		if err != nil {
			return nil, err
		}
		key := strings.ToLower(name)
		if seen[key] {
			return nil, doriserr.New(doriserr.Analysis, "Duplicate column in header `columns`: %s", name)
		}
		seen[key] = true
		names = append(names, name)
		if !more {
			break
		}
		header = rest
		if header == "" {
			return nil, badColumns("")
		}
	}
	return names, nil
}

// cutColumn splits at the first comma outside quotes and parentheses.
func cutColumn(s string) (part, rest string, more bool) {
	depth := 0
	var quote byte
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '`' || c == '\'' || c == '"':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func columnName(part string) (string, error) {
	s := strings.TrimSpace(part)
	if s == "" {
		return "", badColumns(part)
	}
	if s[0] == '`' {
		end := strings.IndexByte(s[1:], '`')
		if end < 1 {
			return "", badColumns(part)
		}
		name, tail := s[1:end+1], strings.TrimSpace(s[end+2:])
		switch {
		case tail == "":
			return name, nil
		case tail[0] == '=':
			return "", unsupportedExpression(s)
		}
		return "", badColumns(part)
	}
	if strings.Contains(s, "=") {
		return "", unsupportedExpression(s)
	}
	if strings.ContainsAny(s, "`'\"() \t") {
		return "", badColumns(part)
	}
	return s, nil
}

func badColumns(part string) error {
	return doriserr.New(doriserr.Analysis, "Invalid header `columns`: expected column names separated by commas, found %q", part)
}

func unsupportedExpression(s string) error {
	return doriserr.New(doriserr.Unsupported, "Header `columns`: expressions are not supported yet: %s", s)
}
