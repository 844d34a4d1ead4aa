package bench

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Login is a MySQL endpoint and who signs in there.
type Login struct {
	// Addr is host:port, or the path of a Unix socket.
	Addr           string
	User, Password string
}

// ServerError is a refusal: the statement failed, the connection is usable.
type ServerError struct {
	Code int // 0 for Stream Load
	Text string
}

func (e *ServerError) Error() string {
	if e.Code == 0 {
		return e.Text
	}
	return fmt.Sprintf("ERROR %d: %s", e.Code, e.Text)
}

// Conn is a MySQL connection for what a measurement needs before and after
// its clock runs; in between the loop owns the socket. One goroutine uses it.
type Conn struct {
	nc  net.Conn
	r   *bufio.Reader
	seq byte
}

const (
	capabilities = 0x1 | 0x200 | 0x2000 | 0x8000 | 0x80000 // long password, 4.1, transactions, secure connection, plugins
	utf8mb4      = 45
	maxPacket    = 1<<24 - 1
	native       = "mysql_native_password"

	comQuery   = 0x03
	comPrepare = 0x16
	comExecute = 0x17
)

// setupTimeout bounds each answer outside the measured time.
const setupTimeout = 60 * time.Second

// Dial connects and signs in with the native password.
func Dial(ctx context.Context, l Login) (*Conn, error) {
	network := "tcp"
	if strings.Contains(l.Addr, "/") {
		network = "unix"
	}
	nc, err := (&net.Dialer{Timeout: setupTimeout}).DialContext(ctx, network, l.Addr)
	if err != nil {
		return nil, err
	}
	c := &Conn{nc: nc, r: bufio.NewReader(nc)}
	if err := c.signIn(l); err != nil {
		nc.Close()
		return nil, fmt.Errorf("cannot sign in at %s: %w", l.Addr, err)
	}
	return c, nil
}

func (c *Conn) signIn(l Login) error {
	if err := c.nc.SetDeadline(time.Now().Add(setupTimeout)); err != nil {
		return err
	}
	greeting, err := c.read()
	if err != nil {
		return err
	}
	salt, err := saltOf(greeting)
	if err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint32(nil, capabilities)
	b = binary.LittleEndian.AppendUint32(b, 1<<30)
	b = append(append(b, utf8mb4), make([]byte, 23)...)
	b = append(append(b, l.User...), 0)
	proof := scramble(l.Password, salt)
	b = append(append(b, byte(len(proof))), proof...)
	b = append(append(b, native...), 0)
	for range 4 {
		if err := c.write(b); err != nil {
			return err
		}
		p, err := c.read()
		if err != nil {
			return err
		}
		switch {
		case p[0] == 0xfe && len(p) > 1: // another plugin, or another salt
			plugin, salt, _ := strings.Cut(string(p[1:]), "\x00")
			switch {
			case l.Password == "":
				b = nil
			case plugin == native && len(salt) >= 20:
				b = scramble(l.Password, []byte(salt[:20]))
			default:
				return fmt.Errorf("the server asks for %s, which is not supported with a password", plugin)
			}
		case p[0] == 0x00:
			return nil
		default:
			return fmt.Errorf("unexpected packet 0x%02x", p[0])
		}
	}
	return errors.New("the server asks for ever")
}

func saltOf(p []byte) ([]byte, error) {
	if p[0] != 10 {
		return nil, fmt.Errorf("protocol %d is not supported", p[0])
	}
	_, rest, _ := strings.Cut(string(p[1:]), "\x00")
	if len(rest) < 51 {
		return nil, errors.New("the greeting is too short")
	}
	return []byte(rest[4:12] + rest[31:43]), nil
}

// scramble proves a password: SHA1(pw) XOR SHA1(salt, SHA1(SHA1(pw))).
func scramble(password string, salt []byte) []byte {
	if password == "" {
		return nil
	}
	once := sha1.Sum([]byte(password))
	twice := sha1.Sum(once[:])
	mask := sha1.Sum(append(append([]byte{}, salt...), twice[:]...))
	for i := range once {
		once[i] ^= mask[i]
	}
	return once[:]
}

// Exec runs a statement and drops its rows.
func (c *Conn) Exec(sql string) error {
	_, err := c.Query(sql)
	return err
}

// Query runs a statement and returns its rows' values as text; NULL is empty.
func (c *Conn) Query(sql string) ([][]string, error) {
	if err := c.command(comQuery, sql); err != nil {
		return nil, err
	}
	p, err := c.read()
	if err != nil || p[0] == 0x00 {
		return nil, err
	}
	if err := c.skip(int(p[0])); err != nil {
		return nil, err
	}
	var rows [][]string
	for {
		p, err := c.read()
		if err != nil {
			return nil, err
		}
		if p[0] == 0xfe && len(p) < 9 {
			return rows, nil
		}
		row, err := textRow(p)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
}

func textRow(p []byte) ([]string, error) {
	var row []string
	for len(p) > 0 {
		if p[0] == 0xfb {
			row, p = append(row, ""), p[1:]
			continue
		}
		n, size := lengthOf(p)
		if size == 0 || n > uint64(len(p)-size) {
			return nil, errors.New("a row packet is cut off")
		}
		row = append(row, string(p[size:size+int(n)]))
		p = p[size+int(n):]
	}
	return row, nil
}

// lengthOf reads a length-encoded integer; size is 0 if there is none.
func lengthOf(p []byte) (n uint64, size int) {
	if len(p) == 0 {
		return 0, 0
	}
	switch size = map[byte]int{0xfc: 3, 0xfd: 4, 0xfe: 9}[p[0]]; {
	case p[0] < 0xfb:
		return uint64(p[0]), 1
	case size == 0 || len(p) < size:
		return 0, 0
	}
	for i, b := range p[1:size] {
		n |= uint64(b) << (8 * i)
	}
	return n, size
}

// skip reads the definitions of n columns and the EOF that ends them.
func (c *Conn) skip(n int) error {
	if n == 0 {
		return nil
	}
	for range n + 1 {
		if _, err := c.read(); err != nil {
			return err
		}
	}
	return nil
}

// Prepare prepares a statement and returns its id.
func (c *Conn) Prepare(sql string) (id uint32, params int, err error) {
	if err := c.command(comPrepare, sql); err != nil {
		return 0, 0, err
	}
	p, err := c.read()
	if err != nil {
		return 0, 0, err
	}
	if len(p) < 12 || p[0] != 0 {
		return 0, 0, errors.New("unexpected answer to a prepare")
	}
	params = int(binary.LittleEndian.Uint16(p[7:]))
	if err := c.skip(params); err != nil {
		return 0, 0, err
	}
	return binary.LittleEndian.Uint32(p[1:]), params, c.skip(int(binary.LittleEndian.Uint16(p[5:])))
}

// Close ends the connection.
func (c *Conn) Close() error { return c.nc.Close() }

func (c *Conn) command(cmd byte, body string) error {
	if err := c.nc.SetDeadline(time.Now().Add(setupTimeout)); err != nil {
		return err
	}
	c.seq = 0
	return c.write(append([]byte{cmd}, body...))
}

func (c *Conn) write(p []byte) error {
	if len(p) >= maxPacket {
		return fmt.Errorf("a packet of %d bytes is too long", len(p))
	}
	_, err := c.nc.Write(append([]byte{byte(len(p)), byte(len(p) >> 8), byte(len(p) >> 16), c.seq}, p...))
	c.seq++
	return err
}

// read returns the next payload, never empty; an ERR is an error.
func (c *Conn) read() ([]byte, error) {
	var h [4]byte
	if _, err := io.ReadFull(c.r, h[:]); err != nil {
		return nil, err
	}
	c.seq = h[3] + 1
	p := make([]byte, int(h[0])|int(h[1])<<8|int(h[2])<<16)
	if _, err := io.ReadFull(c.r, p); err != nil {
		return nil, err
	}
	if len(p) == 0 || len(p) >= maxPacket {
		return nil, fmt.Errorf("a packet of %d bytes is not expected", len(p))
	}
	if p[0] == 0xff {
		return nil, errorOf(p)
	}
	return p, nil
}

func errorOf(p []byte) *ServerError {
	if len(p) < 3 {
		return &ServerError{Code: -1, Text: "an error packet is cut off"}
	}
	text := p[3:]
	if len(text) >= 6 && text[0] == '#' {
		text = text[6:]
	}
	return &ServerError{Code: int(binary.LittleEndian.Uint16(p[1:])), Text: string(text)}
}
