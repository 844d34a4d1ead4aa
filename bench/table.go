package bench

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// kind is how a column's value is sent.
type kind uint8

const (
	kindInt     kind = iota // INT
	kindDecimal             // DECIMAL with two digits after the point; num is unscaled
	kindDate                // DATE; num is days since 1970-01-01
	kindText                // CHAR, VARCHAR
)

type column struct {
	name string
	// sql is the type in CREATE TABLE, the same for both kinds of server.
	sql  string
	kind kind
}

// Table is a workload's table.
type Table struct {
	// Name tells the tables apart in reports.
	Name    string
	keys    int // leading key columns
	columns []column
	fill    func(*Generator, Row)
}

// Tables are the tables that can be measured.
var Tables = []*Table{
	{"int, varchar, int", 1, []column{
		{"id", "INT NOT NULL", kindInt}, {"name", "VARCHAR(50) NULL", kindText}, {"score", "INT NULL", kindInt},
	}, (*Generator).small},
	{"16 columns", 4, []column{
		{"l_orderkey", "INT NOT NULL", kindInt}, {"l_partkey", "INT NOT NULL", kindInt},
		{"l_suppkey", "INT NOT NULL", kindInt}, {"l_linenumber", "INT NOT NULL", kindInt},
		{"l_quantity", "DECIMAL(15,2) NOT NULL", kindDecimal}, {"l_extendedprice", "DECIMAL(15,2) NOT NULL", kindDecimal},
		{"l_discount", "DECIMAL(15,2) NOT NULL", kindDecimal}, {"l_tax", "DECIMAL(15,2) NOT NULL", kindDecimal},
		{"l_returnflag", "CHAR(1) NOT NULL", kindText}, {"l_linestatus", "CHAR(1) NOT NULL", kindText},
		{"l_shipdate", "DATE NOT NULL", kindDate}, {"l_commitdate", "DATE NOT NULL", kindDate}, {"l_receiptdate", "DATE NOT NULL", kindDate},
		{"l_shipinstruct", "CHAR(25) NOT NULL", kindText}, {"l_shipmode", "CHAR(10) NOT NULL", kindText},
		{"l_comment", "VARCHAR(44) NOT NULL", kindText},
	}, (*Generator).lineitem},
	{"web log", 1, []column{
		{"ts", "INT NOT NULL", kindInt}, {"clientip", "VARCHAR(20) NULL", kindText}, {"request", "VARCHAR(500) NULL", kindText},
		{"status", "INT NULL", kindInt}, {"size", "INT NULL", kindInt},
	}, (*Generator).weblog},
}

// TableByColumns returns the table with n columns.
func TableByColumns(n int) (*Table, error) {
	var have []string
	for _, t := range Tables {
		if len(t.columns) == n {
			return t, nil
		}
		have = append(have, strconv.Itoa(len(t.columns)))
	}
	return nil, fmt.Errorf("there is no table with %d columns, choose %s", n, strings.Join(have, " or "))
}

// Columns is the number of columns.
func (t *Table) Columns() int { return len(t.columns) }

// createDoris is the CREATE TABLE for dorisgo. interval 0 leaves the default.
func (t *Table) createDoris(db, name string, buckets, replicas int, interval time.Duration) string {
	props := fmt.Sprintf(`"replication_num" = "%d"`, max(replicas, 1))
	if interval > 0 {
		props += fmt.Sprintf(`, "group_commit_interval_ms" = "%d"`, interval.Milliseconds())
	}
	return fmt.Sprintf("CREATE TABLE %s.%s (%s) ENGINE=OLAP DUPLICATE KEY(%s) DISTRIBUTED BY HASH(%s) BUCKETS %d PROPERTIES (%s)",
		db, name, t.Definitions(), t.names(t.keys), t.names(1), buckets, props)
}

// createMySQL is the CREATE TABLE for the server to compare with: InnoDB
// without an index, which is the cheapest to insert into.
func (t *Table) createMySQL(db, name string) string {
	return fmt.Sprintf("CREATE TABLE %s.%s (%s) ENGINE=InnoDB", db, name, t.Definitions())
}

// Definitions are the columns as CREATE TABLE lists them, separated by a comma and a
// blank.
func (t *Table) Definitions() string {
	var defs []string
	for _, c := range t.columns {
		defs = append(defs, c.name+" "+c.sql)
	}
	return strings.Join(defs, ", ")
}

func (t *Table) names(n int) string {
	var names []string
	for _, c := range t.columns[:n] {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}
