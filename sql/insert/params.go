package insert

import (
	"encoding/binary"

	"dorisgo/doriserr"
)

// The parameter types of the MySQL protocol that are not strings.
const (
	typeDecimal   = 0x00
	typeTiny      = 0x01
	typeShort     = 0x02
	typeLong      = 0x03
	typeFloat     = 0x04
	typeDouble    = 0x05
	typeNull      = 0x06
	typeTimestamp = 0x07
	typeLongLong  = 0x08
	typeInt24     = 0x09
	typeDate      = 0x0a
	typeTime      = 0x0b
	typeDateTime  = 0x0c
	typeYear      = 0x0d
	typeVarChar   = 0x0f
	typeBit       = 0x10
	// typeJSON is the first of the types that are all sent as strings:
	// JSON, NEWDECIMAL, ENUM, SET, the BLOBs, VAR_STRING, STRING, GEOMETRY.
	typeJSON = 0xf5
)

// unsignedFlag in the second type byte marks unsigned integers.
const unsignedFlag = 0x80

// ParamType is how the client sends a parameter.
type ParamType struct {
	Type     byte
	Unsigned bool
}

// Params takes the execute packets of one prepared statement apart. It keeps
// the types that the client sent last, as clients send them only once, and
// aliases the packet and long data of the present execution. It belongs to one
// goroutine.
type Params struct {
	known bool
	types []ParamType
	spare []ParamType

	count  int
	nulls  []byte
	values []byte
	long   [][]byte
	// at is the next parameter, off where its bytes start in values.
	at, off int
	text    []byte
}

// Execute is the fixed part of COM_STMT_EXECUTE.
type Execute struct {
	StatementID uint32
	// Cursor is the flags byte; 0 asks for all rows at once.
	Cursor byte
	// Params is what Params.Parse reads.
	Params []byte
}

// ParseExecute splits the payload of COM_STMT_EXECUTE, after its command byte.
func ParseExecute(b []byte) (Execute, error) {
	if len(b) < 9 {
		return Execute{}, malformed("execute packet of %d bytes", len(b))
	}
	return Execute{binary.LittleEndian.Uint32(b), b[4], b[9:]}, nil
}

func malformed(format string, args ...any) error {
	return doriserr.New(doriserr.MalformedPacket, "Malformed communication packet: "+format, args...)
}

// Parse reads the parameters of one execution of a statement with n of them:
// NULL bitmap, flag, types, values. long has the joined long data of each
// parameter or nil for none; it may be shorter than n. The whole packet is
// checked first: after an error the types known before are still in force.
func (p *Params) Parse(b []byte, n int, long [][]byte) error {
	p.count, p.at, p.off, p.nulls, p.values, p.long = 0, 0, 0, nil, nil, long
	if n == 0 {
		return nil
	}
	size := (n + 7) / 8
	if len(b) < size+1 {
		return malformed("%d bytes for the NULL bitmap of %d parameters", len(b), n)
	}
	nulls, flag, b := b[:size], b[size], b[size+1:]
	types := p.types
	switch {
	case flag == 1:
		if len(b) < 2*n {
			return malformed("%d bytes for the types of %d parameters", len(b), n)
		}
		types = readTypes(p.spare[:0], b[:2*n])
		b = b[2*n:]
	case flag != 0:
		return malformed("new-params-bound flag is %d", flag)
	case !p.known || len(types) != n:
		return malformed("no parameter types were sent")
	}
	if err := checkValues(b, types, nulls, long); err != nil {
		return err
	}
	if flag == 1 {
		p.types, p.spare, p.known = types, p.types, true
	}
	p.count, p.nulls, p.values = n, nulls, b
	return nil
}

// Types are the types in force, nil before the first execution.
func (p *Params) Types() []ParamType { return p.types }

func readTypes(dst []ParamType, b []byte) []ParamType {
	for i := 0; i < len(b); i += 2 {
		dst = append(dst, ParamType{b[i], b[i+1]&unsignedFlag != 0})
	}
	return dst
}

// checkValues walks over all values so that later reads need no checks.
func checkValues(b []byte, types []ParamType, nulls []byte, long [][]byte) error {
	for i, t := range types {
		if inPlace(i, nulls, long) {
			continue
		}
		head, n, ok := extent(t.Type, b)
		if !ok {
			return malformed("value of parameter %d (type 0x%02x) is cut or of an unknown type", i+1, t.Type)
		}
		b = b[head+n:]
	}
	if len(b) > 0 {
		return malformed("%d bytes follow the last parameter", len(b))
	}
	return nil
}

// inPlace reports whether parameter i has no bytes among the values.
func inPlace(i int, nulls []byte, long [][]byte) bool {
	return i < len(long) && long[i] != nil || nulls[i>>3]&(1<<(i&7)) != 0
}

// extent is where the value that b starts with lies: n bytes after head bytes
// of length. ok is false if b is too short or the type unknown.
func extent(t byte, b []byte) (head, n int, ok bool) {
	switch t {
	case typeNull:
		return 0, 0, true
	case typeTiny:
		n = 1
	case typeShort, typeYear:
		n = 2
	case typeLong, typeInt24, typeFloat:
		n = 4
	case typeLongLong, typeDouble:
		n = 8
	case typeDate, typeDateTime, typeTimestamp, typeTime:
		if len(b) == 0 {
			return 0, 0, false
		}
		head, n = 1, int(b[0])
		if !temporalLength(t, n) {
			return 0, 0, false
		}
	default:
		if !isStringType(t) {
			return 0, 0, false
		}
		head, n, ok = lengthPrefix(b)
		if !ok {
			return 0, 0, false
		}
	}
	return head, n, head+n <= len(b)
}

func temporalLength(t byte, n int) bool {
	if t == typeTime {
		return n == 0 || n == 8 || n == 12
	}
	return n == 0 || n == 4 || n == 7 || n == 11
}

func isStringType(t byte) bool {
	return t >= typeJSON || t == typeVarChar || t == typeDecimal || t == typeBit
}

// lengthPrefix reads a length-encoded length, at most that of b.
func lengthPrefix(b []byte) (head, n int, ok bool) {
	if len(b) == 0 {
		return 0, 0, false
	}
	var v uint64
	switch b[0] {
	case 0xfb, 0xff:
		return 0, 0, false
	case 0xfc:
		head = 3
	case 0xfd:
		head = 4
	case 0xfe:
		head = 9
	default:
		return 1, int(b[0]), true
	}
	if len(b) < head {
		return 0, 0, false
	}
	for i := head - 1; i > 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	if v > uint64(len(b)) {
		return 0, 0, false
	}
	return head, int(v), true
}

// rewind starts over with the first parameter.
func (p *Params) rewind() { p.at, p.off = 0, 0 }

// next is the next parameter: its type and bytes. A NULL has type typeNull,
// long data that of a string. ok is false after the last one.
func (p *Params) next() (t ParamType, b []byte, ok bool) {
	if p.at >= p.count {
		return ParamType{}, nil, false
	}
	i := p.at
	p.at++
	if i < len(p.long) && p.long[i] != nil {
		return ParamType{Type: typeVarChar}, p.long[i], true
	}
	if p.nulls[i>>3]&(1<<(i&7)) != 0 {
		return ParamType{Type: typeNull}, nil, true
	}
	t = p.types[i]
	head, n, _ := extent(t.Type, p.values[p.off:])
	b = p.values[p.off+head : p.off+head+n]
	p.off += head + n
	return t, b, true
}
