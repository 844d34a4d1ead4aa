package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"dorisgo/client"
)

func sqlCommand() *cobra.Command {
	a := client.Address{}
	var stmt, output string
	c := &cobra.Command{
		Use: `sql -e "statement"`, Short: "Run a statement over the MySQL protocol and print its rows", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			print, ok := printers[output]
			if !ok {
				return usageError{fmt.Errorf("-o %s: choose table, json or csv", output)}
			}
			if stmt == "" {
				return usageError{errors.New(`nothing to run: give a statement with -e`)}
			}
			if a.Password == "" {
				a.Password = os.Getenv("DORISGO_PASSWORD")
			}
			return runSQL(cmd.Context(), cmd.OutOrStdout(), a, stmt, print)
		},
	}
	f := c.Flags()
	f.StringVarP(&stmt, "execute", "e", "", "the statement")
	f.StringVarP(&output, "output", "o", "table", "table, json or csv")
	f.StringVarP(&a.Host, "host", "H", "127.0.0.1", "frontend")
	f.IntVarP(&a.Port, "port", "P", 9030, "MySQL port of the frontend")
	f.StringVarP(&a.User, "user", "u", "root", "user")
	f.StringVarP(&a.Password, "password", "p", "", "password; better in the environment variable DORISGO_PASSWORD")
	f.StringVarP(&a.DB, "database", "D", "", "database")
	return c
}

func runSQL(ctx context.Context, w io.Writer, a client.Address, stmt string, print func(io.Writer, *client.Result) error) error {
	db, err := client.Open(a)
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("cannot connect to %s:%d: %w", a.Host, a.Port, err)
	}
	defer conn.Close()
	r, err := client.Run(ctx, conn, stmt)
	if err != nil {
		return err
	}
	if len(r.Columns) == 0 {
		return nil
	}
	return print(w, r)
}

var printers = map[string]func(io.Writer, *client.Result) error{"table": printTable, "json": printJSON, "csv": printCSV}

func printTable(w io.Writer, r *client.Result) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(r.Columns, "\t"))
	for _, row := range r.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = "NULL"
			if v != nil {
				cells[i] = *v
			}
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// printJSON prints one object for each row, columns in order.
func printJSON(w io.Writer, r *client.Result) error {
	for _, row := range r.Rows {
		line := []byte{'{'}
		for i, v := range row {
			if i > 0 {
				line = append(line, ',')
			}
			key, err := json.Marshal(r.Columns[i])
			if err != nil {
				return err
			}
			val, err := json.Marshal(v)
			if err != nil {
				return err
			}
			line = append(append(append(line, key...), ':'), val...)
		}
		if _, err := fmt.Fprintf(w, "%s}\n", line); err != nil {
			return err
		}
	}
	return nil
}

// printCSV prints a header line and the rows; NULL is an empty field.
func printCSV(w io.Writer, r *client.Result) error {
	c := csv.NewWriter(w)
	if err := c.Write(r.Columns); err != nil {
		return err
	}
	for _, row := range r.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			if v != nil {
				cells[i] = *v
			}
		}
		if err := c.Write(cells); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}
