package bench

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// exchange is one connection's side of a protocol: what to send next, and how
// to read an answer. It is the loop's alone.
type exchange interface {
	// request is the next request; the bytes are valid until the next call.
	request() []byte
	// reply reads an answer at the start of b: its size and the rows that it
	// acknowledges. Size 0: more bytes are needed. A *ServerError comes with
	// a size; after any other error the connection is of no use.
	reply(b []byte) (size int, rows int64, err error)
}

// stock are the requests of all connections, built before the clock starts.
// Connections begin at different ones and go round.
type stock struct {
	packets [][]byte
	// rows of each request.
	rows int
}

const (
	stockRequests = 1024
	stockBytes    = 32 << 20
)

// fillStock calls build for each request until there are enough.
func fillStock(rows int, build func() ([]byte, error)) (*stock, error) {
	s := &stock{rows: rows}
	for bytes := 0; len(s.packets) < stockRequests && bytes < stockBytes; {
		p, err := build()
		if err != nil {
			return nil, err
		}
		s.packets = append(s.packets, p)
		bytes += len(p)
	}
	return s, nil
}

// cursor walks the stock.
type cursor struct {
	*stock
	at int
}

// start is the cursor of connection i of n.
func (s *stock) start(i, n int) cursor { return cursor{s, i * len(s.packets) / n} }

func (c *cursor) next() []byte {
	p := c.packets[c.at%len(c.packets)]
	c.at++
	return p
}

// packet puts the header before a command.
func packet(payload []byte) ([]byte, error) {
	if len(payload) >= maxPacket {
		return nil, fmt.Errorf("a statement of %d bytes is too long for one packet: take fewer rows per INSERT", len(payload))
	}
	n := len(payload)
	return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), 0}, payload...), nil
}

// textStock are INSERTs with literals.
func textStock(t *Table, g *Generator, into string, rows int) (*stock, error) {
	return fillStock(rows, func() ([]byte, error) {
		b := append([]byte{comQuery}, "INSERT INTO "+into+" VALUES "...)
		for i := range rows {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendLiterals(b, t, g.Next())
		}
		return packet(b)
	})
}

// textExchange sends COM_QUERY.
type textExchange struct{ cursor }

func (x *textExchange) request() []byte                    { return x.next() }
func (x *textExchange) reply(b []byte) (int, int64, error) { return okOrError(b) }

var errReply = errors.New("unexpected answer")

// okOrError reads an OK or ERR packet.
func okOrError(b []byte) (size int, rows int64, err error) {
	if len(b) < 5 {
		return 0, 0, nil
	}
	n := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	if n == 0 || n > 1<<20 {
		return 0, 0, errReply
	}
	if len(b) < 4+n {
		return 0, 0, nil
	}
	switch p := b[4 : 4+n]; p[0] {
	case 0x00:
		affected, s := lengthOf(p[1:])
		if s == 0 {
			return 0, 0, errReply
		}
		return 4 + n, int64(affected), nil
	case 0xff:
		return 4 + n, 0, errorOf(p)
	default:
		return 0, 0, errReply
	}
}

// prepareText is the statement that paramStock's packets execute.
func prepareText(t *Table, into string, rows int) string {
	tuple := "(" + strings.TrimSuffix(strings.Repeat("?,", len(t.columns)), ",") + ")"
	return "INSERT INTO " + into + " VALUES " + strings.TrimSuffix(strings.Repeat(tuple+",", rows), ",")
}

// paramStock are COM_STMT_EXECUTEs without types and with id 0.
func paramStock(t *Table, g *Generator, rows int) (*stock, error) {
	nulls := make([]byte, (rows*len(t.columns)+7)/8)
	return fillStock(rows, func() ([]byte, error) {
		b := append([]byte{comExecute}, 0, 0, 0, 0, 0, 1, 0, 0, 0)
		b = append(append(b, nulls...), 0)
		for range rows {
			b = appendParams(b, t, g.Next())
		}
		return packet(b)
	})
}

// preparedExchange sends COM_STMT_EXECUTE. Types go with the first one only,
// as JDBC drivers do.
type preparedExchange struct {
	cursor
	id    uint32
	types []byte // nil once they are sent
	buf   []byte
}

func (x *preparedExchange) request() []byte {
	p := x.next()
	if x.types != nil {
		// The values follow the flag behind header, fixed part and NULL bitmap.
		flag := 4 + 10 + (len(x.types)/2+7)/8
		x.buf = append(append(x.buf[:0], p[:flag]...), 1)
		x.buf = append(append(x.buf, x.types...), p[flag+1:]...)
		n := len(x.buf) - 4
		x.buf[0], x.buf[1], x.buf[2] = byte(n), byte(n>>8), byte(n>>16)
		x.types = nil
	} else {
		x.buf = append(x.buf[:0], p...)
	}
	binary.LittleEndian.PutUint32(x.buf[5:], x.id)
	return x.buf
}

func (x *preparedExchange) reply(b []byte) (int, int64, error) { return okOrError(b) }

// loadStock are Stream Loads of CSV.
func loadStock(t *Table, g *Generator, host, path, login, mode string, rows int) (*stock, error) {
	return fillStock(rows, func() ([]byte, error) {
		var body []byte
		for range rows {
			body = appendCSV(body, t, g.Next())
		}
		head := fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Basic %s\r\ncolumn_separator: ,\r\n", path, host, login)
		if mode != Off {
			head += "group_commit: " + mode + "_mode\r\n"
		}
		return append([]byte(head+"Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"), body...), nil
	})
}

// loadExchange sends Stream Loads on a connection that is kept.
type loadExchange struct{ cursor }

func (x *loadExchange) request() []byte { return x.next() }

func (x *loadExchange) reply(b []byte) (size int, rows int64, err error) {
	head, body, found := bytes.Cut(b, []byte("\r\n\r\n"))
	if !found {
		if len(b) > 64<<10 {
			return 0, 0, errReply
		}
		return 0, 0, nil
	}
	n, err := contentLength(head)
	if err != nil {
		return 0, 0, err
	}
	if len(body) < n {
		return 0, 0, nil
	}
	body, size = body[:n], len(head)+4+n
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 200")) {
		line, _, _ := bytes.Cut(head, []byte("\r\n"))
		return 0, 0, fmt.Errorf("%w: %s", errReply, line)
	}
	if status := textField(body, "Status"); status != "Success" && status != "Publish Timeout" {
		return size, 0, &ServerError{Text: status + ": " + textField(body, "Message")}
	}
	rows, err = strconv.ParseInt(numberField(body, "NumberLoadedRows"), 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: no NumberLoadedRows", errReply)
	}
	return size, rows, nil
}

func contentLength(head []byte) (int, error) {
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		name, v, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(name, []byte("Content-Length")) {
			n, err := strconv.Atoi(string(bytes.TrimSpace(v)))
			if err != nil || n < 0 || n > 1<<20 {
				return 0, errReply
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: no Content-Length", errReply)
}

// textField and numberField read a field of the flat JSON of a reply.
func textField(body []byte, key string) string {
	_, v, _ := bytes.Cut(body, []byte(`"`+key+`": "`))
	v, _, _ = bytes.Cut(v, []byte{'"'})
	return string(v)
}

func numberField(body []byte, key string) string {
	_, v, _ := bytes.Cut(body, []byte(`"`+key+`": `))
	return string(v[:len(v)-len(bytes.TrimLeft(v, "0123456789"))])
}
