package mysql

import (
	"bytes"

	"dorisgo/doriserr"
)

// hiddenEnd returns the end of the string, quoted name or comment that starts
// at sql[i], or i if none starts there.
func hiddenEnd(sql []byte, i int, noBackslash bool) int {
	rest := sql[i:]
	switch c := rest[0]; c {
	case '\'', '"':
		for j := 1; j < len(rest); j++ {
			switch {
			case rest[j] == c:
				return i + j + 1
			case rest[j] == '\\' && !noBackslash:
				j++
			}
		}
		return len(sql)
	case '`':
		return i + until(rest, 1, "`")
	case '#':
		return i + until(rest, 1, "\n")
	case '-':
		if len(rest) > 1 && rest[1] == '-' && (len(rest) == 2 || rest[2] <= ' ') {
			return i + until(rest, 2, "\n")
		}
	case '/':
		if len(rest) > 1 && rest[1] == '*' {
			return i + until(rest, 2, "*/")
		}
	}
	return i
}

// until is where s ends in b after from, or the length of b.
func until(b []byte, from int, s string) int {
	if j := bytes.Index(b[from:], []byte(s)); j >= 0 {
		return from + j + len(s)
	}
	return len(b)
}

// nextMark is the position of mark at or after i outside of strings, quoted
// names and comments, or -1.
func nextMark(sql []byte, i int, mark byte, noBackslash bool) int {
	if i >= len(sql) || bytes.IndexByte(sql[i:], mark) < 0 {
		return -1
	}
	for i < len(sql) {
		switch sql[i] {
		case mark:
			return i
		case '\'', '"', '`', '#', '-', '/':
			if end := hiddenEnd(sql, i, noBackslash); end > i {
				i = end
				continue
			}
		}
		i++
	}
	return -1
}

// trimEnd cuts blanks and semicolons from the end, which hides no statement.
func trimEnd(sql []byte) []byte {
	for n := len(sql); n > 0; n-- {
		if c := sql[n-1]; c > ' ' && c != ';' {
			return sql[:n]
		}
	}
	return nil
}

// blank reports whether sql has nothing but blanks, comments and semicolons.
func blank(sql []byte) bool {
	for i := 0; i < len(sql); {
		c := sql[i]
		if c <= ' ' || c == ';' {
			i++
			continue
		}
		if c != '#' && c != '-' && c != '/' {
			return false
		}
		end := hiddenEnd(sql, i, true)
		if end == i {
			return false
		}
		i = end
	}
	return true
}

// nextStatement cuts the first statement from sql, without its semicolon and the
// blanks round it. rest is nil when nothing but blanks and comments follows.
func nextStatement(sql []byte, noBackslash bool) (stmt, rest []byte) {
	sql = trimEnd(sql)
	for {
		for len(sql) > 0 && sql[0] <= ' ' {
			sql = sql[1:]
		}
		i := nextMark(sql, 0, ';', noBackslash)
		if i < 0 {
			return sql, nil
		}
		stmt, rest = trimEnd(sql[:i]), sql[i+1:]
		if blank(rest) {
			return stmt, nil
		}
		if !blank(stmt) {
			return stmt, rest
		}
		sql = rest
	}
}

// single returns the one statement of sql; more than one is a syntax error,
// as it is for a client that did not ask for several.
func (c *conn) single(sql []byte) ([]byte, error) {
	stmt, rest := nextStatement(sql, c.session.Status().NoBackslashEscapes)
	if rest != nil {
		near := bytes.TrimSpace(rest)
		return nil, doriserr.New(doriserr.Parse, "Only one statement is allowed here; syntax error near '%s'",
			bytes.ToValidUTF8(near[:min(len(near), 64)], nil))
	}
	return stmt, nil
}
