package csv

import (
	"strings"

	"dorisgo/doriserr"
)

// Separator reads a column_separator or line_delimiter header: plain text, in
// which \x and pairs of hex digits stand for bytes, and \n, \r, \t, \0, \\
// for what they do everywhere. Other backslashes are themselves.
//
// An HTTP server drops blanks and tabs around a header's value and refuses
// other control characters, so those have to be written that way.
func Separator(header string) (string, error) {
	if header == "" {
		return "", doriserr.New(doriserr.Analysis, "Column separator is null or empty")
	}
	var out strings.Builder
	for i := 0; i < len(header); {
		c := header[i]
		if c != '\\' || i+1 == len(header) {
			out.WriteByte(c)
			i++
			continue
		}
		i += 2
		switch c := header[i-1]; c {
		case 'x', 'X':
			n, err := hexRun(&out, header[i:])
			if err != nil {
				return "", err
			}
			i += n
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 't':
			out.WriteByte('\t')
		case '0':
			out.WriteByte(0)
		case '\\':
			out.WriteByte('\\')
		default:
			out.WriteByte('\\')
			out.WriteByte(c)
		}
	}
	return out.String(), nil
}

// hexRun writes the bytes that the hex digits at the start of s stand for.
func hexRun(out *strings.Builder, s string) (int, error) {
	n := 0
	for n < len(s) && hexDigit(s[n]) >= 0 {
		n++
	}
	switch {
	case s == "":
		return 0, doriserr.New(doriserr.Analysis, "Hex str is empty")
	case n == 0:
		return 0, doriserr.New(doriserr.Analysis, "Hex str format error")
	case n%2 != 0:
		return 0, doriserr.New(doriserr.Analysis, "Hex str length error")
	}
	for i := 0; i < n; i += 2 {
		out.WriteByte(byte(hexDigit(s[i])<<4 | hexDigit(s[i+1])))
	}
	return n, nil
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
