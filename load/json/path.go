package json

import (
	"strconv"
	"strings"

	"dorisgo/doriserr"
)

// Path is a compiled JSON path: $, .key, ["key"] and [index].
type Path []step

// step goes to a key, or to an index if key is nil.
type step struct {
	key   []byte
	index int
}

// ParsePath compiles a path. Wildcards and filters are refused by name.
func ParsePath(text string) (Path, error) {
	s, ok := strings.CutPrefix(strings.TrimSpace(text), "$")
	if !ok {
		return nil, badPath(text)
	}
	p := Path{}
	for s != "" {
		var st step
		var rest string
		switch s[0] {
		case '.':
			st, rest, ok = dotStep(s[1:])
		case '[':
			st, rest, ok = bracketStep(s[1:])
		default:
			ok = false
		}
		if !ok {
			return nil, badPath(text)
		}
		p, s = append(p, st), rest
	}
	return p, nil
}

func dotStep(s string) (st step, rest string, ok bool) {
	if s != "" && s[0] == '[' { // Doris writes $.[0] too
		return bracketStep(s[1:])
	}
	if s != "" && s[0] == '"' {
		end := strings.IndexByte(s[1:], '"')
		if end < 0 {
			return st, "", false
		}
		return step{key: []byte(s[1 : end+1])}, s[end+2:], true
	}
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		end = len(s)
	}
	if end == 0 || strings.ContainsAny(s[:end], "*?") {
		return st, "", false
	}
	return step{key: []byte(s[:end])}, s[end:], true
}

func bracketStep(s string) (st step, rest string, ok bool) {
	if s == "" {
		return st, "", false
	}
	if q := s[0]; q == '"' || q == '\'' {
		end := strings.IndexByte(s[1:], q)
		if end < 0 || !strings.HasPrefix(s[end+2:], "]") {
			return st, "", false
		}
		return step{key: []byte(s[1 : end+1])}, s[end+3:], true
	}
	num, rest, ok := strings.Cut(s, "]")
	n, err := strconv.Atoi(num)
	if !ok || err != nil || n < 0 {
		return st, "", false
	}
	return step{index: n}, rest, true
}

func badPath(text string) error {
	return doriserr.New(doriserr.Unsupported, "JSON path %q is not supported: only $, .key, [\"key\"] and [index] are", text)
}

// ParsePaths reads the jsonpaths header, a JSON array of paths.
func ParsePaths(header string) ([]Path, error) {
	s := scanner{[]byte(strings.TrimSpace(header))}
	bad := doriserr.New(doriserr.BadProperty, "Invalid json path: %s: expected an array of paths", header)
	if len(s.b) == 0 || s.b[0] != '[' || s.array(0, 0) != len(s.b) {
		return nil, bad
	}
	var paths []Path
	for i := skipBlanks(s.b, 1); s.b[i] != ']'; {
		if s.b[i] != '"' {
			return nil, bad
		}
		end, _ := s.str(i)
		text, ok := unescape(nil, s.b[i:end])
		if !ok {
			return nil, bad
		}
		p, err := ParsePath(string(text))
		if err != nil {
			return nil, err
		}
		paths = append(paths, p)
		if i = skipBlanks(s.b, end); s.b[i] == ',' {
			i = skipBlanks(s.b, i+1)
		}
	}
	if len(paths) == 0 {
		return nil, bad
	}
	return paths, nil
}

// find follows a path through a checked value. Anything that is not there, null
// on the way included, is not found.
func (p Path) find(v value) (value, bool) {
	for _, st := range p {
		var ok bool
		if st.key != nil {
			v, ok = member(v, st.key)
		} else {
			v, ok = element(v, st.index)
		}
		if !ok {
			return value{}, false
		}
	}
	return v, true
}

// member is the last member of a checked object with a key, in its exact case.
func member(v value, key []byte) (found value, ok bool) {
	if v.kind() != '{' {
		return value{}, false
	}
	s := scanner{v.raw}
	for i := skipBlanks(s.b, 1); s.b[i] == '"'; {
		k, val, end := s.member(i, 0)
		if end < 0 {
			return value{}, false
		}
		if equalKey(k, key) {
			found, ok = val, true
		}
		if i = skipBlanks(s.b, end); s.b[i] == ',' {
			i = skipBlanks(s.b, i+1)
		}
	}
	return found, ok
}

func equalKey(k value, key []byte) bool {
	if !k.escaped {
		return string(k.raw[1:len(k.raw)-1]) == string(key)
	}
	text, ok := unescape(nil, k.raw)
	return ok && string(text) == string(key)
}

func element(v value, index int) (value, bool) {
	if v.kind() != '[' {
		return value{}, false
	}
	s := scanner{v.raw}
	for i := skipBlanks(s.b, 1); s.b[i] != ']'; {
		end, esc := s.value(i, 0)
		if end < 0 {
			return value{}, false
		}
		if index == 0 {
			return value{s.b[i:end], esc}, true
		}
		index--
		if i = skipBlanks(s.b, end); s.b[i] == ',' {
			i = skipBlanks(s.b, i+1)
		}
	}
	return value{}, false
}
