package exec

import (
	"context"
	"errors"
	"fmt"
	"io"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/duck"
	"dorisgo/rpc/bepb"
	"dorisgo/storage"
	"dorisgo/value"
)

// Storage pins tablets; storage.Engine implements it.
type Storage interface {
	Snapshot(ctx context.Context, partitionID, tabletID, version int64) (*storage.Snapshot, error)
	WaitPublished(ctx context.Context, partitionID, version int64) error
}

// Peers reach the other BEs of a query.
type Peers interface {
	Scan(ctx context.Context, backendID int64, r *bepb.ScanRequest) (bepb.Backend_ScanClient, error)
}

// Executor runs fragments. It is safe for concurrent use.
type Executor struct {
	Self    int64
	Storage Storage
	Peers   Peers
	Duck    *duck.DB
	// Statements has room for the statements that are coordinated here at the
	// same time. It must be less than what Duck runs at the same time: the
	// scans for other BEs then always find a place, and BEs that coordinate for
	// each other do not wait in a ring. nil sets no bound.
	Statements chan struct{}
}

// Query runs a statement as its coordinator. send gets the columns first, then
// the rows, and is called by one goroutine.
func (e *Executor) Query(ctx context.Context, r *bepb.QueryRequest, send func(*bepb.QueryChunk) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if e.Statements != nil {
		select {
		case e.Statements <- struct{}{}:
			defer func() { <-e.Statements }()
		case <-ctx.Done():
			return fmt.Errorf("the query waited for others to end: %w", ctx.Err())
		}
	}
	q := &duck.Query{SQL: r.Sql, Types: types(r.ResultTypes)}
	var pins pins
	defer pins.close()
	for _, t := range r.Tables {
		in, err := e.input(ctx, r.QueryId, t, &pins)
		if err != nil {
			return err
		}
		q.Tables = append(q.Tables, *in)
	}
	rows, err := e.Duck.Query(ctx, q)
	if err != nil {
		return e.blame(ctx, pins, err)
	}
	defer rows.Close()
	head := &bepb.QueryChunk{}
	for _, c := range rows.Columns() {
		head.Columns = append(head.Columns, columnPB(c.Name, c.Type))
	}
	if err := send(head); err != nil {
		return err
	}
	return e.stream(ctx, rows, pins, func(p []byte) error { return send(&bepb.QueryChunk{Block: p}) })
}

// stream encodes a result's blocks, which come out of what is pinned.
func (e *Executor) stream(ctx context.Context, rows *duck.Rows, pins pins, send func([]byte) error) error {
	for {
		b, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return e.blame(ctx, pins, err)
		}
		if err := send(block.AppendEncoded(nil, b)); err != nil {
			return err
		}
	}
}

func columnPB(name string, t value.Type) *bepb.ColumnDesc {
	return &bepb.ColumnDesc{
		Name: name, Kind: uint32(t.Kind), Precision: uint32(t.Precision), Scale: uint32(t.Scale), Length: t.Length, Nullable: true,
	}
}

// pins are what a fragment holds on to until its end.
type pins []*storage.Snapshot

func (p *pins) close() {
	for _, s := range *p {
		s.Close()
	}
	*p = nil
}

// input pins a table's tablets here, and prepares the scan of those elsewhere.
func (e *Executor) input(ctx context.Context, queryID string, t *bepb.QueryTable, pins *pins) (*duck.TableInput, error) {
	in := &duck.TableInput{Name: t.Name, Columns: relation(t.Columns)}
	remote := map[int64][]*bepb.ScanTablet{}
	var local []*storage.Snapshot
	for _, tablet := range t.Tablets {
		if tablet.BackendId != e.Self {
			remote[tablet.BackendId] = append(remote[tablet.BackendId], tablet)
			continue
		}
		s, err := e.pin(ctx, tablet)
		if err != nil {
			return nil, err
		}
		*pins = append(*pins, s)
		local = append(local, s)
	}
	for _, s := range local {
		if err := e.addLocal(ctx, in, s, t.Columns); err != nil {
			return nil, err
		}
	}
	if len(remote) > 0 {
		in.Rows = e.remoteRows(ctx, queryID, t, remote)
	}
	return in, nil
}

// addLocal adds a pinned tablet's inline rows and files.
func (e *Executor) addLocal(ctx context.Context, in *duck.TableInput, s *storage.Snapshot, cols []*bepb.ColumnDesc) error {
	var rows *block.Block
	var have []storage.ColumnDesc
	flush := func() error {
		if rows == nil || rows.Rows() == 0 {
			return nil
		}
		b, err := Project(rows, have, cols)
		if err != nil {
			return err
		}
		in.Blocks = append(in.Blocks, b)
		rows = nil
		return nil
	}
	for rs, err := range s.Inline(ctx) {
		if err != nil {
			return e.failed(s.TabletID, err)
		}
		if rows == nil || !sameColumns(have, rs.Columns) {
			if err := flush(); err != nil {
				return err
			}
			have = rs.Columns
			rows = block.New(storedTypes(have))
		}
		if _, err := block.DecodeAppend(rows, rs.Data); err != nil {
			return e.failed(s.TabletID, doriserr.Wrap(doriserr.Corrupt, err, "rowset %s", rs.ID))
		}
	}
	if err := flush(); err != nil {
		return err
	}
	for _, f := range s.Files() {
		in.Files = append(in.Files, duck.File{Path: f.Path})
	}
	return nil
}

func storedTypes(cols []storage.ColumnDesc) []value.Type {
	out := make([]value.Type, len(cols))
	for i := range cols {
		out[i] = cols[i].Type
	}
	return out
}

func sameColumns(a, b []storage.ColumnDesc) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].UniqueID != b[i].UniqueID || a[i].Type != b[i].Type {
			return false
		}
	}
	return true
}

// Scan streams the rows of this BE's tablets.
func (e *Executor) Scan(ctx context.Context, r *bepb.ScanRequest, send func(*bepb.ScanChunk) error) error {
	in := &duck.TableInput{Name: "t", Columns: relation(r.Columns)}
	var pins pins
	defer pins.close()
	for _, t := range r.Tablets {
		s, err := e.pin(ctx, t)
		if err != nil {
			return err
		}
		pins = append(pins, s)
	}
	for _, s := range pins {
		if err := e.addLocal(ctx, in, s, r.Columns); err != nil {
			return err
		}
	}
	for _, b := range in.Blocks {
		if err := send(&bepb.ScanChunk{Block: block.AppendEncoded(nil, b)}); err != nil {
			return err
		}
	}
	if len(in.Files) == 0 {
		return nil
	}
	in.Blocks = nil
	rows, err := e.Duck.Query(ctx, &duck.Query{SQL: `SELECT * FROM "t"`, Tables: []duck.TableInput{*in}, Types: types(r.Columns)})
	if err != nil {
		return e.blame(ctx, pins, err)
	}
	defer rows.Close()
	return e.stream(ctx, rows, pins, func(p []byte) error { return send(&bepb.ScanChunk{Block: p}) })
}
