package exec

import (
	"context"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
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
	var c counter
	if err := s.runQuery(ctx, [16]byte{}, tr, &c); err != nil {
		return 0, err
	}
	if c.rows != 1 {
		return 0, doriserr.New(doriserr.Internal, "a count gave %d rows", c.rows)
	}
	return c.count, nil
}

// counter takes the result of a count.
type counter struct {
	rows  int
	count int64
}

func (c *counter) columns(*bepb.QueryChunk) error { return nil }

func (c *counter) block(b *block.Block) error {
	c.rows += b.Rows()
	if b.Rows() > 0 {
		c.count = b.Col(0).Int64(0)
	}
	return nil
}

func (c *counter) end() error { return nil }
