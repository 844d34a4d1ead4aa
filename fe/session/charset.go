package session

import (
	"slices"
	"strings"
)

// charsets are the character sets that a client may name. All text travels as
// UTF-8: the others are taken from clients that send plain ASCII.
var charsets = []string{"utf8mb4", "utf8", "utf8mb3", "latin1", "ascii", "binary", "gbk", "gb2312", "gb18030", "big5", "ucs2", "utf16", "utf32", "cp1250", "cp1251", "cp1252", "latin2"}

func checkCharset(_, text string) (string, error) {
	if name := strings.ToLower(text); slices.Contains(charsets, name) {
		return name, nil
	}
	return "", errCharset(text)
}

// checkCollation takes the collations of the character sets by their prefix.
func checkCollation(name, text string) (string, error) {
	lower := strings.ToLower(text)
	set, _, _ := strings.Cut(lower, "_")
	if !slices.Contains(charsets, set) {
		return "", errWrongValue(name, text)
	}
	return lower, nil
}
