package ddl

import (
	"math/big"
	"strings"
	"unicode/utf8"
)

// Match reports whether a row passes the filter. get gives the text of a column
// by its name, to be matched without case; ok is false for one that the row
// has not, which no comparison matches. Equality knows no case, as in MySQL's
// default collation; order is that of numbers if both sides are numbers.
func (f *Filter) Match(get func(column string) (text string, ok bool)) bool {
	switch f.Op {
	case FilterAnd:
		return f.Left.Match(get) && f.Right.Match(get)
	case FilterOr:
		return f.Left.Match(get) || f.Right.Match(get)
	case FilterNot:
		return !f.Left.Match(get)
	}
	v, ok := get(f.Column)
	if !ok {
		return false
	}
	switch f.Op {
	case FilterLike:
		return Like(f.Values[0], v)
	case FilterIn:
		for _, w := range f.Values {
			if compareText(v, w) == 0 {
				return true
			}
		}
		return false
	}
	c := compareText(v, f.Values[0])
	switch f.Op {
	case FilterEqual:
		return c == 0
	case FilterNotEqual:
		return c != 0
	case FilterLess:
		return c < 0
	case FilterLessEqual:
		return c <= 0
	case FilterGreater:
		return c > 0
	default:
		return c >= 0
	}
}

// Columns appends the names of all columns of the filter.
func (f *Filter) Columns(dst []string) []string {
	if f.Left != nil {
		dst = f.Left.Columns(dst)
	}
	if f.Right != nil {
		dst = f.Right.Columns(dst)
	}
	if f.Column != "" {
		dst = append(dst, f.Column)
	}
	return dst
}

// Equal is the value that the filter demands of a column by "=" alone or
// within ANDs, as SHOW TRANSACTION WHERE label = 'x' needs it.
func (f *Filter) Equal(column string) (string, bool) {
	switch f.Op {
	case FilterAnd:
		if v, ok := f.Left.Equal(column); ok {
			return v, true
		}
		return f.Right.Equal(column)
	case FilterEqual:
		if strings.EqualFold(f.Column, column) {
			return f.Values[0], true
		}
	}
	return "", false
}

// maxNumber bounds the texts that are compared as numbers.
const maxNumber = 64

func compareText(a, b string) int {
	if len(a) <= maxNumber && len(b) <= maxNumber && isDigits(a) && isDigits(b) {
		x, _ := new(big.Int).SetString(a, 10)
		y, _ := new(big.Int).SetString(b, 10)
		return x.Cmp(y)
	}
	return strings.Compare(strings.ToLower(a), strings.ToLower(b))
}

func isDigits(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// Like reports whether s matches a LIKE pattern: % any text, _ any character,
// a backslash takes the meaning from the sign after it. Case does not matter.
// The time is at most the product of both lengths.
func Like(pattern, s string) bool {
	p, t := []rune(strings.ToLower(pattern)), []rune(strings.ToLower(s))
	if !utf8.ValidString(pattern) || !utf8.ValidString(s) {
		return pattern == s
	}
	i, j := 0, 0
	// star is the pattern position after the last %, mark the text position
	// that it reaches to.
	star, mark := -1, 0
	for j < len(t) {
		if i < len(p) && p[i] == '%' {
			i++
			star, mark = i, j
			continue
		}
		if n, ok := likeOne(p[i:], t[j]); ok {
			i += n
			j++
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		i, j = star, mark
	}
	for i < len(p) && p[i] == '%' {
		i++
	}
	return i == len(p)
}

// likeOne matches one character; n is how much of the pattern that took.
func likeOne(p []rune, c rune) (n int, ok bool) {
	switch {
	case len(p) == 0:
		return 0, false
	case p[0] == '\\' && len(p) > 1:
		return 2, p[1] == c
	case p[0] == '_':
		return 1, true
	}
	return 1, p[0] == c
}
