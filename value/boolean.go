package value

// ParseBool reads 0, 1, true or false in any case, blanks around.
func ParseBool(b []byte) (bool, error) {
	t := trimBlanks(b)
	switch {
	case len(t) == 1 && t[0]&^1 == '0':
		return t[0] == '1', nil
	case equalFold(t, "true"):
		return true, nil
	case equalFold(t, "false"):
		return false, nil
	}
	return false, NewConvError(Malformed, Type{Kind: Boolean}, b)
}

// equalFold reports whether b is the lower-case ASCII word w in any case.
func equalFold(b []byte, w string) bool {
	if len(b) != len(w) {
		return false
	}
	for i := range len(w) {
		c := b[i]
		if c-'A' < 26 {
			c |= 0x20
		}
		if c != w[i] {
			return false
		}
	}
	return true
}
