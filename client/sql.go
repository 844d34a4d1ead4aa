package client

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"strconv"

	"github.com/go-sql-driver/mysql"
)

// Address is a frontend's MySQL endpoint and who signs in.
type Address struct {
	Host           string
	Port           int
	User, Password string
	DB             string
	// Params are session variables that the driver sets at connect.
	Params map[string]string
}

// Open returns a pool of connections to the address.
func Open(a Address) (*sql.DB, error) {
	c := mysql.NewConfig()
	c.Net, c.Addr = "tcp", net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
	c.User, c.Passwd, c.DBName, c.Params = a.User, a.Password, a.DB, a.Params
	c.AllowNativePasswords, c.InterpolateParams = true, true
	conn, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("cannot use the address %s: %w", c.Addr, err)
	}
	return sql.OpenDB(conn), nil
}

// Result is what a statement gave: rows, or the count of an OK packet.
type Result struct {
	Columns []string
	Rows    [][]*string
	// Affected is the count of a statement without rows.
	Affected int64
}

// Run executes one statement and reads all of its rows.
func Run(ctx context.Context, db *sql.Conn, stmt string) (*Result, error) {
	rows, err := db.QueryContext(ctx, stmt)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: cols}
	for rows.Next() {
		row := make([]*string, len(cols))
		dest := make([]any, len(cols))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		r.Rows = append(r.Rows, row)
	}
	return r, rows.Err()
}
