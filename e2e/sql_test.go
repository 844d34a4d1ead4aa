package e2e

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"dorisgo/client"
)

// statementTime bounds one statement of a test.
const statementTime = 30 * time.Second

// session is one connection. It closes with the test.
type session struct {
	tb   testing.TB
	conn *sql.Conn
}

// connect opens a connection. Its statements run as text when they have no
// arguments, and are prepared on the server by prepared.
func connect(tb testing.TB, a client.Address) *session {
	tb.Helper()
	db, conn, err := dial(a)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		conn.Close()
		db.Close()
	})
	return &session{tb, conn}
}

// dial opens one connection; the pool has no other one.
func dial(a client.Address) (*sql.DB, *sql.Conn, error) {
	db, err := client.Open(a)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, conn, nil
}

// try runs a statement and returns its rows with NULL as the word.
func (s *session) try(stmt string) ([][]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	r, err := client.Run(ctx, s.conn, stmt)
	if err != nil {
		return nil, err
	}
	return texts(r.Rows), nil
}

// run runs a statement that has to succeed.
func (s *session) run(stmt string) [][]string {
	s.tb.Helper()
	rows, err := s.try(stmt)
	if err != nil {
		s.tb.Fatalf("%s: %s", short(stmt), err)
	}
	return rows
}

// value is the only value of a statement's result.
func (s *session) value(stmt string) string {
	s.tb.Helper()
	rows := s.run(stmt)
	if len(rows) != 1 || len(rows[0]) != 1 {
		s.tb.Fatalf("%s: %v is not one value", short(stmt), rows)
	}
	return rows[0][0]
}

// column is a column of the only row of a statement's result.
func (s *session) column(stmt, name string) string {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	r, err := client.Run(ctx, s.conn, stmt)
	if err != nil {
		s.tb.Fatalf("%s: %s", short(stmt), err)
	}
	for i, c := range r.Columns {
		if c == name && len(r.Rows) == 1 {
			return texts(r.Rows)[0][i]
		}
	}
	s.tb.Fatalf("%s: %d rows of %v, want one with %s", short(stmt), len(r.Rows), r.Columns, name)
	return ""
}

// columnOf is a column of all rows of a statement's result.
func (s *session) columnOf(stmt, name string) (out []string) {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	r, err := client.Run(ctx, s.conn, stmt)
	if err != nil {
		s.tb.Fatalf("%s: %s", short(stmt), err)
	}
	i := slices.Index(r.Columns, name)
	if i < 0 {
		s.tb.Fatalf("%s: columns %v, want one %s", short(stmt), r.Columns, name)
	}
	for _, row := range texts(r.Rows) {
		out = append(out, row[i])
	}
	return out
}

// refused runs a statement that has to fail with a MySQL error whose text has
// all the words; code 0 is any.
func (s *session) refused(stmt string, code uint16, words ...string) {
	s.tb.Helper()
	_, err := s.try(stmt)
	checkRefused(s.tb, short(stmt), err, code, words...)
}

func checkRefused(tb testing.TB, what string, err error, code uint16, words ...string) {
	tb.Helper()
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		tb.Errorf("%s: %v is not an answer of the server", what, err)
		return
	}
	if code != 0 && e.Number != code {
		tb.Errorf("%s: %s, want code %d", what, err, code)
	}
	for _, w := range words {
		if !strings.Contains(strings.ToLower(e.Message), strings.ToLower(w)) {
			tb.Errorf("%s: %s does not say %q", what, err, w)
		}
	}
}

// prepared runs a statement through COM_STMT_PREPARE and COM_STMT_EXECUTE.
func (s *session) prepared(stmt string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	p, err := s.conn.PrepareContext(ctx, stmt)
	if err != nil {
		return err
	}
	defer p.Close()
	_, err = p.ExecContext(ctx, args...)
	return err
}

// binary reads a statement's rows by the binary protocol.
func (s *session) binary(stmt string) [][]string {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	p, err := s.conn.PrepareContext(ctx, stmt)
	if err != nil {
		s.tb.Fatalf("%s: %s", short(stmt), err)
	}
	defer p.Close()
	rows, err := p.QueryContext(ctx)
	if err != nil {
		s.tb.Fatalf("%s: %s", short(stmt), err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		s.tb.Fatal(err)
	}
	var out [][]*string
	for rows.Next() {
		row, dest := make([]*string, len(cols)), make([]any, len(cols))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := rows.Scan(dest...); err != nil {
			s.tb.Fatal(err)
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		s.tb.Fatalf("%s: %s", short(stmt), err)
	}
	return texts(out)
}

// null is how tests write NULL; no value of theirs has that text.
const null = "<NULL>"

func texts(rows [][]*string) [][]string {
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = make([]string, len(r))
		for j, v := range r {
			out[i][j] = null
			if v != nil {
				out[i][j] = *v
			}
		}
	}
	return out
}

// short is a statement for a message.
func short(stmt string) string {
	if len(stmt) > 200 {
		return stmt[:200] + "…"
	}
	return stmt
}
