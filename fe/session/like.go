package session

import (
	"strings"
	"unicode/utf8"
)

// Like reports whether s matches a LIKE pattern: % is any text, _ any
// character, a backslash takes away their meaning. Case does not matter, as in
// SHOW VARIABLES.
func Like(pattern, s string) bool { return like(strings.ToLower(pattern), strings.ToLower(s)) }

// like goes back only to the last %, hence takes at most len(p)*len(s) steps.
func like(p, s string) bool {
	var backP, backS string
	back := false
	for len(s) > 0 {
		pc, pn, wild := patternChar(p)
		sc, sn := utf8.DecodeRuneInString(s)
		switch {
		case wild && pc == '%':
			p = p[pn:]
			back, backP, backS = true, p, s
			continue
		case pn > 0 && (wild || pc == sc):
			p, s = p[pn:], s[sn:]
			continue
		case !back:
			return false
		}
		_, n := utf8.DecodeRuneInString(backS)
		backS = backS[n:]
		p, s = backP, backS
	}
	return strings.Trim(p, "%") == ""
}

// patternChar is the first character of a pattern: n bytes, and wild if it
// stands for others.
func patternChar(p string) (c rune, n int, wild bool) {
	c, n = utf8.DecodeRuneInString(p)
	if c == '\\' && len(p) > 1 {
		next, m := utf8.DecodeRuneInString(p[1:])
		return next, 1 + m, false
	}
	return c, n, n > 0 && (c == '%' || c == '_')
}
