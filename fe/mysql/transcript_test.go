package mysql

import (
	"bytes"
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"testing"

	proto "github.com/go-mysql-org/go-mysql/mysql"

	"dorisgo/doriserr"
)

var update = flag.Bool("update", false, "write golden files")

// TestTranscript compares every byte of the answers with testdata: OK, ERR,
// EOF and its successor, column definitions, text and binary rows, prepare-OK.
func TestTranscript(t *testing.T) {
	f := newFake()
	f.queries["types"] = func(_ context.Context, _ *fakeSession, w *ResultWriter) error {
		if err := w.Columns(allTypes); err != nil {
			return err
		}
		return w.Block(typesBlock())
	}
	f.queries["label"] = func(_ context.Context, _ *fakeSession, w *ResultWriter) error {
		return w.OKBytes(2, 1, []byte("{'label':'group_commit_a_b', 'status':'PREPARE', 'txnId':'7'}"))
	}
	f.queries["show"] = func(_ context.Context, _ *fakeSession, w *ResultWriter) error {
		return w.Rows([]string{"Database"}, [][]string{{"a"}, {}})
	}
	f.queries["half"] = func(_ context.Context, _ *fakeSession, w *ResultWriter) error {
		if err := w.Columns(allTypes[:1]); err != nil {
			return err
		}
		return doriserr.New(doriserr.Timeout, "query timeout")
	}
	f.queries["begin"] = func(_ context.Context, s *fakeSession, _ *ResultWriter) error {
		s.status = Status{InTransaction: true}
		return nil
	}
	_, p := serve(t, f, Options{})
	for name, caps := range map[string]uint32{"old": 0, "new": proto.CLIENT_DEPRECATE_EOF | proto.CLIENT_SESSION_TRACK} {
		t.Run(name, func(t *testing.T) {
			c := signIn(t, p.dial(t), caps)
			var out bytes.Buffer
			show := func(what string, packets [][]byte) {
				fmt.Fprintf(&out, "## %s\n", what)
				for _, p := range packets {
					out.WriteString(hex.Dump(p))
					out.WriteString("--\n")
				}
			}
			for _, q := range []string{"types", "label", "show", "half", "BAD", "", "begin"} {
				c.send(proto.COM_QUERY, []byte(q))
				show("query "+q, c.result())
			}
			c.send(proto.COM_FIELD_LIST, []byte("t\x00"))
			show("field list", [][]byte{c.read(), c.read(), c.read()})
			for _, st := range []struct {
				sql  string
				more int // packets after the first, without and with EOF packets
			}{{"INSERT INTO t VALUES (?,?,?)", 3}, {"SELECT ?", 1 + len(allTypes)}, {"INSERT", 0}} {
				c.send(proto.COM_STMT_PREPARE, []byte(st.sql))
				n := 1 + st.more
				if caps == 0 && st.more > 0 {
					n++
					if st.more > 3 {
						n++
					}
				}
				var packets [][]byte
				for range n {
					packets = append(packets, c.read())
				}
				show("prepare "+st.sql, packets)
			}
			c.send(proto.COM_STMT_EXECUTE, []byte{2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 5})
			show("execute", c.result())
			file := "testdata/transcript_" + name + ".txt"
			if *update {
				if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, out.Bytes()) {
				t.Errorf("answers differ from %s; got:\n%s", file, out.String())
			}
		})
	}
}
