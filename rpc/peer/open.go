package peer

import (
	"context"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"dorisgo/doriserr"
)

// A connection for messages starts with the four bytes of magic, where one of
// gRPC has those of http2, then names its service and carries the cluster token.
// The answer is a text that says why it is refused, empty when it is not.
const (
	magic = "DGM\x01"
	http2 = "PRI "

	dialTime = 2 * time.Second
	openTime = 5 * time.Second
)

// Open returns a connection for messages to a service of the peer at addr.
// Errors: NoBackend if the peer cannot be reached, NoPrivilege if it refuses.
func (p *Pool) Open(ctx context.Context, addr, service string) (*Messages, error) {
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	if done {
		return nil, doriserr.New(doriserr.Stopping, "cannot dial %q: the node is stopping", addr)
	}
	dialCtx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	var conn net.Conn
	var err error
	if l := p.pipes.find(addr); l != nil {
		conn, err = l.DialContext(dialCtx)
	} else {
		conn, err = new(net.Dialer).DialContext(dialCtx, "tcp", addr)
	}
	if err != nil {
		return nil, doriserr.New(doriserr.NoBackend, "cannot dial %q: %v", addr, err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	refusal, err := ask(conn, service, p.token)
	if err == nil && refusal != "" {
		err = doriserr.New(doriserr.NoPrivilege, "%s", refusal)
	} else if err != nil {
		err = doriserr.New(doriserr.NoBackend, "cannot open a connection to %q: %v", addr, err)
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if !stop() || err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	return newMessages(conn), nil
}

func ask(conn net.Conn, service, token string) (refusal string, err error) {
	if err := conn.SetDeadline(time.Now().Add(openTime)); err != nil {
		return "", err
	}
	b := append([]byte(magic), byte(len(service)))
	b = append(b, service...)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(token)))
	if _, err := conn.Write(append(b, token...)); err != nil {
		return "", err
	}
	return readText(conn, 2)
}

// admit reads what Open sent after magic, not a byte more, and answers it.
func admit(conn net.Conn, token string, find func(service string) (MessageHandler, bool)) (MessageHandler, error) {
	service, err := readText(conn, 1)
	if err != nil {
		return nil, err
	}
	got, err := readText(conn, 2)
	if err != nil {
		return nil, err
	}
	refusal := ""
	h, known := find(service)
	switch {
	case token != "" && subtle.ConstantTimeCompare([]byte(got), []byte(token)) != 1:
		refusal = badToken
	case !known:
		refusal = fmt.Sprintf("there is no service %q here", service)
	}
	b := binary.LittleEndian.AppendUint16(nil, uint16(len(refusal)))
	if _, err := conn.Write(append(b, refusal...)); err != nil {
		return nil, err
	}
	if refusal != "" {
		return nil, fmt.Errorf("refused: %s", refusal)
	}
	return h, nil
}

// readText reads a text whose length comes first, in one or two bytes.
func readText(conn net.Conn, lengthBytes int) (string, error) {
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:lengthBytes]); err != nil {
		return "", err
	}
	text := make([]byte, binary.LittleEndian.Uint16(size[:]))
	_, err := io.ReadFull(conn, text)
	return string(text), err
}
