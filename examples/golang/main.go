// Command golang inserts batches into a 16-column table from several
// goroutines in async_mode, as a service that gathers its own batches would,
// and at the end compares the count with what it was told.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	"golang.org/x/sync/errgroup"
)

const table = "async_lineitem"

const createTable = `CREATE TABLE async_lineitem (
  l_shipdate DATE NOT NULL, l_orderkey BIGINT NOT NULL, l_linenumber INT NOT NULL, l_partkey INT NOT NULL,
  l_suppkey INT NOT NULL, l_quantity DECIMAL(15,2) NOT NULL, l_extendedprice DECIMAL(15,2) NOT NULL,
  l_discount DECIMAL(15,2) NOT NULL, l_tax DECIMAL(15,2) NOT NULL, l_returnflag VARCHAR(1) NOT NULL,
  l_linestatus VARCHAR(1) NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATETIME(6) NOT NULL,
  l_shipinstruct VARCHAR(25) NOT NULL, l_shipmode VARCHAR(10) NOT NULL, l_comment VARCHAR(44) NOT NULL
) DUPLICATE KEY(l_shipdate, l_orderkey) DISTRIBUTED BY HASH(l_orderkey) BUCKETS %d
PROPERTIES ("replication_num" = "1", "group_commit_interval_ms" = "500")`

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	addr := flag.String("addr", "127.0.0.1:9030", "MySQL address of a frontend")
	threads := flag.Int("threads", 20, "concurrent connections")
	batch := flag.Int("batch", 100, "rows per INSERT")
	seconds := flag.Int("seconds", 5, "how long to insert")
	buckets := flag.Int("buckets", 1, "buckets of the table")
	flag.Parse()
	ctx := context.Background()

	admin, err := sql.Open("mysql", "root:@tcp("+*addr+")/")
	if err != nil {
		return err
	}
	defer admin.Close()
	for _, stmt := range []string{"CREATE DATABASE IF NOT EXISTS test", "DROP TABLE IF EXISTS test." + table, "USE test"} {
		if _, err := admin.ExecContext(ctx, stmt); err != nil {
			return fmt.Errorf("%s: %w", stmt, err)
		}
	}
	// interpolateParams: the driver writes the values into the text, so that a
	// batch is one round trip and not a statement to prepare.
	db, err := sql.Open("mysql", "root:@tcp("+*addr+")/test?parseTime=true&interpolateParams=true&group_commit=%27async_mode%27")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, fmt.Sprintf(createTable, *buckets)); err != nil {
		return err
	}

	var total atomic.Int64
	ctx, stop := context.WithTimeout(ctx, time.Duration(*seconds)*time.Second)
	defer stop()
	g := errgroup.Group{}
	for range *threads {
		g.Go(func() error { return insertBatches(ctx, db, *batch, &total) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	told := total.Load()
	fmt.Printf("inserted %d rows in %d s (%d rows/s)\n", told, *seconds, told/int64(*seconds))

	deadline := time.Now().Add(30 * time.Second)
	var count int64
	for count != told && time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond)
		if err := db.QueryRowContext(context.Background(), "SELECT COUNT(*) FROM "+table).Scan(&count); err != nil {
			return err
		}
	}
	if count != told {
		return fmt.Errorf("the table has %d rows, the program was told of %d", count, told)
	}
	fmt.Printf("count(*) is %d, as reported\n", count)
	return nil
}

// insertBatches runs INSERTs until ctx ends. A statement that was begun is
// waited for: its outcome counts.
func insertBatches(ctx context.Context, db *sql.DB, batch int, total *atomic.Int64) error {
	places := strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),", batch), ",")
	stmt := "INSERT INTO " + table + " VALUES " + places
	args := make([]any, 0, batch*16)
	for ctx.Err() == nil {
		args = args[:0]
		for range batch {
			now := time.Now().UTC()
			args = append(args, now.Format(time.DateOnly), rand.Int64N(1_000_000), rand.IntN(7), rand.IntN(1000), rand.IntN(1000),
				1.0, 99.5, 0.05, 0.02, "N", "O", now.Format(time.DateOnly), now, "DELIVER IN PERSON", "SHIP", "N/A")
		}
		res, err := db.ExecContext(context.WithoutCancel(ctx), stmt, args...)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return err
		}
		if n != int64(batch) {
			return errors.New("an INSERT reported fewer rows than it had")
		}
		total.Add(n)
	}
	return nil
}
