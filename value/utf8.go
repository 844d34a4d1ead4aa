package value

import "unicode/utf8"

// TruncateUTF8 is the longest start of b with at most n bytes that ends at a
// character's edge. It aliases b. Bytes that are not UTF-8 count as
// characters of one byte.
func TruncateUTF8(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	i := n
	for i > 0 && n-i < utf8.UTFMax-1 && !utf8.RuneStart(b[i]) {
		i--
	}
	if !utf8.RuneStart(b[i]) {
		return b[:n]
	}
	if _, size := utf8.DecodeRune(b[i:]); i+size > n {
		return b[:i]
	}
	return b[:n]
}
