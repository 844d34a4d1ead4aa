package mysql

import (
	"context"
	"database/sql"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
)

// connect opens a pool of Go's usual driver over pipes.
func connect(t testing.TB, p *pipes, change func(*driver.Config)) *sql.DB {
	t.Helper()
	cfg := driver.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = "root", "tcp", "pipe:1"
	cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) { return p.dial(t), nil }
	cfg.AllowNativePasswords = true
	if change != nil {
		change(cfg)
	}
	c, err := driver.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func serveTypes(ctx context.Context, _ *fakeSession, w *ResultWriter) error {
	if err := w.Columns(allTypes); err != nil {
		return err
	}
	return w.Block(typesBlock())
}

// TestEveryType reads every type through the text and the binary protocol:
// both give the same.
func TestEveryType(t *testing.T) {
	f := newFake()
	f.queries["SELECT all"] = serveTypes
	_, p := serve(t, f, Options{})
	db := connect(t, p, nil)
	want := [][]string{
		{"1", "-1", "-300", "70000", "-5000000000", "-170141183460469231731687303715884105728", "0.1", "-2.5", "12.345",
			"2024-02-29", "2024-02-29 00:00:00", "2024-02-29 01:02:03.000001", "ab", "it's", "中文", `{"k":1}`},
		{"0", "127", "32767", "-2147483648", "-9223372036854775808", "170141183460469231731687303715884105727", "0", "1e+300", "-0.001",
			"0000-01-01", "1969-12-31 23:59:59", "9999-12-31 23:59:59.999999", "", "", "", ""},
		{},
	}
	read := func(name string, rows *sql.Rows, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for i := 0; rows.Next(); i++ {
			vals, at := make([]sql.NullString, len(allTypes)), make([]any, len(allTypes))
			for j := range vals {
				at[j] = &vals[j]
			}
			if err := rows.Scan(at...); err != nil {
				t.Fatal(err)
			}
			for j, v := range vals {
				if len(want[i]) == 0 {
					if v.Valid {
						t.Errorf("%s: row %d, %s is %q, want NULL", name, i, allTypes[j].Name, v.String)
					}
					continue
				}
				if v.String != want[i][j] || !v.Valid {
					t.Errorf("%s: row %d, %s is %q, want %q", name, i, allTypes[j].Name, v.String, want[i][j])
				}
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := db.Query("SELECT all")
	read("text", rows, err)
	rows, err = db.Query("SELECT ?", 1)
	read("binary", rows, err)
}

// TestParameters sends Go values as parameters and looks at the literals.
func TestParameters(t *testing.T) {
	f := newFake()
	_, p := serve(t, f, Options{})
	c := connect(t, p, nil)
	st, err := c.Prepare("INSERT '?' `?` /* ? */ ? ? ? ? ? -- ?")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	when := time.Date(2024, 2, 29, 1, 2, 3, 4000, time.UTC)
	for range 2 { // the driver sends types each time; values must not mix
		if _, err := st.Exec(int64(-7), "it's \\", []byte(nil), when, 0.5); err != nil {
			t.Fatal(err)
		}
	}
	want := `INSERT '?' ` + "`?`" + ` /* ? */ -7 'it''s \\' NULL '2024-02-29 01:02:03.000004' 5e-01 -- ?`
	if got := f.statements(); !slices.Equal(got, []string{want, want}) {
		t.Errorf("statements %q, want %q twice", got, want)
	}
	if _, err := c.Exec("BAD"); err == nil || !strings.Contains(err.Error(), "errCode = 2, detailMessage = bad statement") {
		t.Errorf("error %v", err)
	}
	if _, err := c.Prepare("BAD"); err == nil {
		t.Error("prepare of a bad statement was no error")
	}
}

func TestDriverMultiStatements(t *testing.T) {
	f := newFake()
	f.queries["SELECT 1"] = serveTypes
	_, p := serve(t, f, Options{})
	db := connect(t, p, func(c *driver.Config) { c.MultiStatements = true })
	rows, err := db.Query("SELECT 1; SELECT 1;")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	sets := 0
	for more := true; more; more = rows.NextResultSet() {
		n := 0
		for rows.Next() {
			n++
		}
		if n == 3 {
			sets++
		}
	}
	if sets != 2 || rows.Err() != nil {
		t.Errorf("%d result sets, %v", sets, rows.Err())
	}
}
