package bulkload

import "unicode/utf8"

// utf8Check looks for the first byte that is no UTF-8 in a text that comes in
// pieces.
type utf8Check struct {
	// pending are the bytes of a character that is not complete.
	pending []byte
	read    int64
	bad     bool
	at      int64
}

func (u *utf8Check) write(p []byte) {
	if u.bad {
		return
	}
	for len(u.pending) > 0 && len(p) > 0 {
		u.pending = append(u.pending, p[0])
		p = p[1:]
		if !utf8.FullRune(u.pending) {
			continue
		}
		if r, n := utf8.DecodeRune(u.pending); r == utf8.RuneError && n == 1 {
			u.bad, u.at = true, u.read
			return
		}
		u.read += int64(len(u.pending))
		u.pending = u.pending[:0]
	}
	whole := p
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if tail := p[len(p)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				whole = p[:len(p)-i]
			}
			break
		}
	}
	if !utf8.Valid(whole) {
		for n := 0; ; {
			r, size := utf8.DecodeRune(whole[n:])
			if r == utf8.RuneError && size == 1 {
				u.bad, u.at = true, u.read+int64(n)
				return
			}
			n += size
		}
	}
	u.read += int64(len(whole))
	u.pending = append(u.pending, p[len(whole):]...)
}

// end is the offset of the first bad byte, -1 if the text is valid.
func (u *utf8Check) end() int64 {
	switch {
	case u.bad:
		return u.at
	case len(u.pending) > 0:
		return u.read
	}
	return -1
}
