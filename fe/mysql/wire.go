package mysql

import (
	"encoding/binary"
)

// appendLenInt appends a length-encoded integer.
func appendLenInt(b []byte, n uint64) []byte {
	switch {
	case n < 251:
		return append(b, byte(n))
	case n < 1<<16:
		return append(b, 0xfc, byte(n), byte(n>>8))
	case n < 1<<24:
		return append(b, 0xfd, byte(n), byte(n>>8), byte(n>>16))
	}
	return binary.LittleEndian.AppendUint64(append(b, 0xfe), n)
}

// appendLenString appends a length-encoded string.
func appendLenString[S string | []byte](b []byte, s S) []byte {
	return append(appendLenInt(b, uint64(len(s))), s...)
}

// cursor takes fields from a packet. A read past the end gives zero values
// and sets bad, which is asked once at the end.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.bad, c.b = true, nil
		return nil
	}
	p := c.b[:n:n]
	c.b = c.b[n:]
	return p
}

func (c *cursor) uint8() byte {
	if p := c.bytes(1); p != nil {
		return p[0]
	}
	return 0
}

func (c *cursor) uint16() uint16 {
	if p := c.bytes(2); p != nil {
		return binary.LittleEndian.Uint16(p)
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if p := c.bytes(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

// lenInt takes a length-encoded integer. 0xfb (NULL) and 0xff are bad here.
func (c *cursor) lenInt() uint64 {
	first := c.uint8()
	var p []byte
	switch first {
	case 0xfb, 0xff:
		c.bad = true
		return 0
	case 0xfc:
		p = c.bytes(2)
	case 0xfd:
		p = c.bytes(3)
	case 0xfe:
		p = c.bytes(8)
	default:
		return uint64(first)
	}
	var n uint64
	for i, x := range p {
		n |= uint64(x) << (8 * i)
	}
	return n
}

// lenBytes takes a length-encoded string.
func (c *cursor) lenBytes() []byte {
	n := c.lenInt()
	if n > uint64(len(c.b)) {
		c.bad, c.b = true, nil
		return nil
	}
	return c.bytes(int(n))
}

// zstring takes a string that a zero byte ends.
func (c *cursor) zstring() string {
	for i, x := range c.b {
		if x == 0 {
			s := string(c.b[:i])
			c.b = c.b[i+1:]
			return s
		}
	}
	c.bad, c.b = true, nil
	return ""
}

// lastString takes a string that a zero byte or the packet's end ends.
func (c *cursor) lastString() string {
	for _, x := range c.b {
		if x == 0 {
			return c.zstring()
		}
	}
	return string(c.bytes(len(c.b)))
}
