package peer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"
)

// pair returns two ends of a connection in this process.
func pair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l := bufconn.Listen(64 << 10)
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	a, err := l.DialContext(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	b = <-accepted
	l.Close()
	t.Cleanup(func() {
		a.Close()
		b.Close()
	})
	return a, b
}

func message(text string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}

func TestMessagesFromBytes(t *testing.T) {
	for name, c := range map[string]struct {
		sent []byte
		want []string
		err  error
	}{
		"nothing":               {nil, nil, io.EOF},
		"two":                   {append(message("one"), message("two")...), []string{"one", "two"}, io.EOF},
		"signs of life":         {bytes.Join([][]byte{message(""), message("one"), message(""), message("")}, nil), []string{"one"}, io.EOF},
		"a length that is cut":  {message("one")[:3], nil, io.ErrUnexpectedEOF},
		"a message that is cut": {append(message("one"), message("two")[:6]...), []string{"one"}, io.ErrUnexpectedEOF},
		"a length and no more":  {message("one")[:4], nil, io.ErrUnexpectedEOF},
		// Memory is taken as the bytes come: this one would need 1 GiB.
		"a length that never comes": {binary.LittleEndian.AppendUint32(nil, maxMessage), nil, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			if _, err := a.Write(c.sent); err != nil {
				t.Fatal(err)
			}
			a.Close()
			m := newMessages(b)
			defer m.Close()
			for _, want := range c.want {
				if got, err := m.Recv(); err != nil || string(got) != want {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			}
			if _, err := m.Recv(); !errors.Is(err, c.err) {
				t.Errorf("the end is %v, want %v", err, c.err)
			}
			if cap(m.buf) > 2*growBy {
				t.Errorf("%d bytes were taken", cap(m.buf))
			}
		})
	}
	t.Run("too long", func(t *testing.T) {
		a, b := pair(t)
		m := newMessages(b)
		defer m.Close()
		if _, err := a.Write(binary.LittleEndian.AppendUint32(nil, maxMessage+1)); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Recv(); err == nil || m.Send(t.Context(), func(b []byte) ([]byte, error) { return append(b, 1), nil }) != nil {
			t.Errorf("got %v", err)
		}
	})
}

// TestSilence: an end that lives is heard although it has nothing to say; one
// that hangs is given up, by whoever reads and whoever writes.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, other := pair(t)
		a, b := newMessages(conn), newMessages(other)
		defer a.Close()
		defer b.Close()
		got := make(chan error, 2)
		go func() {
			_, err := a.Recv()
			got <- err
		}()
		go func() {
			_, err := b.Recv()
			got <- err
		}()
		time.Sleep(time.Hour)
		select {
		case err := <-got:
			t.Fatalf("an idle connection ended: %v", err)
		default:
		}
		a.Close()
		<-got
		<-got
	})
	synctest.Test(t, func(t *testing.T) {
		conn, _ := pair(t) // nobody reads or writes at the other end
		m := newMessages(conn)
		sent := make(chan error, 1)
		go func() {
			for {
				if err := m.Send(t.Context(), func(b []byte) ([]byte, error) { return append(b, make([]byte, 1000)...), nil }); err != nil {
					sent <- err
					return
				}
			}
		}()
		start := time.Now()
		_, err := m.Recv()
		if took := time.Since(start); !isTimeout(err) || took != silence {
			t.Errorf("a peer that hangs: %v after %s", err, took)
		}
		m.Close()
		if err := <-sent; err == nil {
			t.Error("a write to it succeeded")
		}
	})
}

func isTimeout(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}

// TestABadMessageHarmsNothing: what cannot be encoded is not sent, not even in
// part.
func TestABadMessageHarmsNothing(t *testing.T) {
	conn, other := pair(t)
	a, b := newMessages(conn), newMessages(other)
	defer a.Close()
	defer b.Close()
	bad := errors.New("bad")
	if err := a.Send(t.Context(), func(b []byte) ([]byte, error) { return append(b, "half"...), bad }); !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
	if err := a.Send(t.Context(), func(b []byte) ([]byte, error) { return append(b, "whole"...), nil }); err != nil {
		t.Error(err)
	}
	if got, err := b.Recv(); err != nil || string(got) != "whole" {
		t.Errorf("got %q, %v", got, err)
	}
}

// FuzzMessages: any bytes are messages and then an error; what was read is what
// came.
func FuzzMessages(f *testing.F) {
	f.Add(append(message("one"), message("")...))
	f.Add([]byte{1, 0, 0, 0})
	f.Add([]byte{255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 32<<10 {
			return // more than a pipe holds
		}
		conn, other := pair(t)
		if _, err := conn.Write(in); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		m := newMessages(other)
		defer m.Close()
		rest := in
		for {
			got, err := m.Recv()
			for len(rest) >= lengthBytes && binary.LittleEndian.Uint32(rest) == 0 {
				rest = rest[lengthBytes:]
			}
			if err != nil {
				if (err == io.EOF) != (len(rest) == 0) {
					t.Errorf("%v with %d bytes left", err, len(rest))
				}
				return
			}
			if len(rest) < lengthBytes+len(got) || !bytes.Equal(got, rest[lengthBytes:lengthBytes+len(got)]) {
				t.Fatalf("a message of %d bytes is not what came", len(got))
			}
			rest = rest[lengthBytes+len(got):]
		}
	})
}
