package exec

import (
	"context"
	"errors"
	"io"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/sql/translate"
	"dorisgo/value"
)

// RowCount counts a table's visible rows.
func (s *Server) RowCount(ctx context.Context, db, table string) (int64, error) {
	_, t, err := s.table(db, table)
	if err != nil {
		return 0, err
	}
	tr := &translate.Translated{
		SQL: `SELECT count(*) FROM "t"`, Tables: []translate.TableRef{{Name: "t", DB: db, Table: t, Columns: []int{0}}},
		Columns: []translate.Column{{Name: "count(*)", Type: value.Type{Kind: value.BigInt}}},
	}
	p, err := s.planQuery([16]byte{}, tr)
	if err != nil {
		return 0, err
	}
	stream, err := s.Backends.Query(ctx, p.Coordinator, p.Request)
	if err != nil {
		return 0, queryError(tr, p, err)
	}
	head, err := stream.Recv()
	if err != nil {
		return 0, queryError(tr, p, err)
	}
	types, _ := resultColumns(tr, head)
	b := block.New(types)
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, queryError(tr, p, err)
		}
		if _, err := block.DecodeAppend(b, chunk.Block); err != nil {
			return 0, err
		}
	}
	if b.Rows() != 1 {
		return 0, doriserr.New(doriserr.Internal, "a count gave %d rows", b.Rows())
	}
	return b.Col(0).Int64(0), nil
}
