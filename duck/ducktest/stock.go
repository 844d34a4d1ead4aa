// Package ducktest helps to test what others make of dorisgo's files.
package ducktest

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// Stock is a DuckDB with the settings that it comes with: it knows nothing of
// this house. It is for one goroutine.
type Stock struct {
	db   mapping.Database
	conn mapping.Connection
}

// OpenStock opens one in memory; the caller closes it.
func OpenStock() (*Stock, error) {
	s := &Stock{}
	if mapping.Open(":memory:", &s.db) == mapping.StateError {
		return nil, errors.New("cannot open a stock engine")
	}
	if mapping.Connect(s.db, &s.conn) == mapping.StateError {
		mapping.Close(&s.db)
		return nil, errors.New("cannot connect to a stock engine")
	}
	return s, nil
}

// Close closes it.
func (s *Stock) Close() {
	mapping.Disconnect(&s.conn)
	mapping.Close(&s.db)
}

// Columns are the names of a query's columns.
func (s *Stock) Columns(query string) (names []string, err error) {
	err = s.run(query, func(res *mapping.Result) {
		for i := range mapping.ColumnCount(res) {
			names = append(names, mapping.ColumnName(res, i))
		}
	})
	return names, err
}

// Texts are the values of a query's first column, which is not NULL anywhere, as
// the engine writes them.
func (s *Stock) Texts(query string) (out []string, err error) {
	err = s.run("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ("+query+")", func(res *mapping.Result) {
		for {
			chunk := mapping.FetchChunk(*res)
			if chunk.Ptr == nil {
				return
			}
			data := mapping.VectorGetData(mapping.DataChunkGetVector(chunk, 0))
			for i := range mapping.DataChunkGetSize(chunk) {
				out = append(out, text(unsafe.Add(data, 16*uintptr(i))))
			}
			mapping.DestroyDataChunk(&chunk)
		}
	})
	return out, err
}

// text reads a string of a vector: its length and then the bytes, or, if they
// are more than 12, four of them and where they are.
func text(p unsafe.Pointer) string {
	head := (*[16]byte)(p)
	n := binary.LittleEndian.Uint32(head[:4])
	if n <= 12 {
		return string(head[4 : 4+n])
	}
	return string(unsafe.Slice(*(**byte)(unsafe.Pointer(&head[8])), n))
}

func (s *Stock) run(query string, f func(*mapping.Result)) error {
	var res mapping.Result
	defer mapping.DestroyResult(&res)
	if mapping.Query(s.conn, query, &res) == mapping.StateError {
		return errors.New(mapping.ResultError(&res))
	}
	f(&res)
	return nil
}
