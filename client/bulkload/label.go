package bulkload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"regexp"
	"strconv"
)

// maxPrefix leaves room in a label's 128 characters for the rest of ours.
const maxPrefix = 64

var prefixRule = regexp.MustCompile(`^[-_A-Za-z0-9:]+$`)

func checkPrefix(p string) error {
	if len(p) > maxPrefix || !prefixRule.MatchString(p) {
		return fmt.Errorf("the label prefix %q must be 1 to %d of the characters A-Z, a-z, 0-9, -, _ and :", p, maxPrefix)
	}
	return nil
}

// newHash starts the hash of a chunk. Labels are a database's, so the table is
// part of it: the same file may go into two tables.
func newHash(table string) hash.Hash {
	h := sha256.New()
	h.Write([]byte(table))
	h.Write([]byte{0})
	return h
}

// labels derives labels. Equal chunks at equal offsets, as equal files have
// them, are numbered in the order in which they come: which of them is which
// does not matter.
type labels struct {
	prefix string
	seen   map[labelKey]int
}

type labelKey struct {
	sum    [16]byte
	offset int64
}

func (l *labels) next(sum []byte, offset int64) string {
	k := labelKey{[16]byte(sum[:16]), offset}
	l.seen[k]++
	label := l.prefix + "_" + hex.EncodeToString(k.sum[:]) + "_" + strconv.FormatInt(offset, 10)
	if n := l.seen[k]; n > 1 {
		label += "_" + strconv.Itoa(n)
	}
	return label
}
