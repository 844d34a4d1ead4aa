package translate

import "strings"

// tok is a word, number, string, quoted name or one character of punctuation.
type tok struct {
	text       string
	start, end int
}

// is reports whether the token is the keyword, which is upper case.
func (k tok) is(word string) bool { return strings.EqualFold(k.text, word) }

// lex cuts SQL into tokens, without blanks and comments. It never fails: what
// is not closed ends with the text, and the parser complains.
func lex(sql string) []tok {
	var toks []tok
	for i := 0; i < len(sql); {
		end := i + 1
		switch c := sql[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case c == '#' || (c == '-' && strings.HasPrefix(sql[i:], "--") && (i+2 == len(sql) || sql[i+2] <= ' ')):
			i = find(sql, i, "\n")
			continue
		case c == '/' && strings.HasPrefix(sql[i:], "/*"):
			i = find(sql, i+2, "*/")
			continue
		case c == '\'' || c == '"' || c == '`':
			end = quoted(sql, i)
		case wordByte(c):
			for end < len(sql) && wordByte(sql[end]) {
				end++
			}
		}
		toks = append(toks, tok{sql[i:end], i, end})
		i = end
	}
	return toks
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// find is the place after the next mark, or the end.
func find(sql string, from int, mark string) int {
	if n := strings.Index(sql[from:], mark); n >= 0 {
		return from + n + len(mark)
	}
	return len(sql)
}

// quoted is the place after the quoted text that starts at i.
func quoted(sql string, i int) int {
	q := sql[i]
	for j := i + 1; j < len(sql); j++ {
		switch {
		case sql[j] == '\\' && q != '`':
			j++
		case sql[j] == q && j+1 < len(sql) && sql[j+1] == q:
			j++
		case sql[j] == q:
			return j + 1
		}
	}
	return len(sql)
}

// selectOptions are the words that may stand between SELECT and its list.
var selectOptions = map[string]bool{
	"ALL": true, "DISTINCT": true, "DISTINCTROW": true, "HIGH_PRIORITY": true, "STRAIGHT_JOIN": true, "SQL_SMALL_RESULT": true,
	"SQL_BIG_RESULT": true, "SQL_BUFFER_RESULT": true, "SQL_NO_CACHE": true, "SQL_CACHE": true, "SQL_CALC_FOUND_ROWS": true,
}

// listEnds are the words that end a select list.
var listEnds = map[string]bool{
	"FROM": true, "WHERE": true, "GROUP": true, "HAVING": true, "ORDER": true, "LIMIT": true, "UNION": true, "INTO": true,
	"FOR": true, "LOCK": true, "WINDOW": true,
}

// outputNames are the texts of the select list's expressions as the client
// wrote them, or nil if they are not exactly n.
func outputNames(sql string, n int) []string {
	toks := lex(sql)
	i := firstSelect(toks)
	if i < 0 {
		return nil
	}
	for i++; i < len(toks) && selectOptions[strings.ToUpper(toks[i].text)]; i++ {
	}
	var names []string
	depth, start := 0, i
	cut := func(end int) {
		if end > start {
			names = append(names, literalName(sql[toks[start].start:toks[end-1].end]))
		}
		start = end + 1
	}
	for ; i < len(toks); i++ {
		switch w := toks[i].text; {
		case w == "(":
			depth++
		case w == ")" && depth > 0:
			depth--
		case depth > 0:
		case w == ",":
			cut(i)
		case w == ")" || w == ";" || listEnds[strings.ToUpper(w)] && (i == 0 || toks[i-1].text != "."):
			cut(i)
			if len(names) == n {
				return names
			}
			return nil
		}
	}
	cut(i)
	if len(names) != n {
		return nil
	}
	return names
}

// firstSelect is the SELECT outside of parentheses (a WITH has its own inside),
// or the first of all.
func firstSelect(toks []tok) int {
	depth, first := 0, -1
	for i, k := range toks {
		switch {
		case k.text == "(":
			depth++
		case k.text == ")":
			depth--
		case k.is("SELECT"):
			if depth == 0 {
				return i
			}
			if first < 0 {
				first = i
			}
		}
	}
	return first
}

// literalName takes the quotes off a plain string.
func literalName(s string) string {
	if len(s) > 1 && (s[0] == '\'' || s[0] == '"') && quoted(s, 0) == len(s) && !strings.ContainsAny(s[1:len(s)-1], `\'"`) {
		return s[1 : len(s)-1]
	}
	return s
}
