package mysql

import (
	"bytes"
	"context"
	"encoding/binary"

	proto "github.com/go-mysql-org/go-mysql/mysql"

	"dorisgo/doriserr"
)

// maxParameters is what the two-byte count of a prepare-OK can tell.
const maxParameters = 1<<16 - 1

// longDataPackets is the greatest sum of long data that a connection may hold, in
// units of max_allowed_packet.
const longDataPackets = 4

// prepared is a prepared statement of one connection.
type prepared struct {
	Statement
	params int
	// types are those that the last whole execution bound, nil before.
	types []ParamType
	args  ExecuteArgs
	// text is the statement's beginning, for the process list.
	text []byte
	// long is what COM_STMT_SEND_LONG_DATA brought since the last execution;
	// longErr is why it cannot be used.
	long      map[int][]byte
	longBytes int
	longErr   error
}

func (p *prepared) clearLong(c *conn) {
	c.longBytes -= p.longBytes
	p.long, p.longBytes, p.longErr = nil, 0, nil
}

// commandPrepare answers COM_STMT_PREPARE.
func (c *conn) commandPrepare(ctx context.Context, sql []byte) error {
	if n := c.server.opt.MaxPreparedStmts; n > 0 && c.server.stmts.Load() >= int64(n) {
		return c.writeError(doriserr.New(doriserr.TooManyStatements,
			"Can't create more than max_prepared_stmt_count statements (current value: %d)", n))
	}
	sql, err := c.single(sql)
	if err != nil {
		return c.writeError(err)
	}
	st, err := c.session.Prepare(ctx, sql)
	if err != nil {
		return c.writeError(err)
	}
	if n := st.Params(); n > maxParameters {
		st.Close()
		return c.writeError(doriserr.New(doriserr.TooManyParameters,
			"Prepared statement contains too many placeholders"))
	}
	c.lastStmt++
	p := &prepared{Statement: st, params: st.Params(), text: bytes.Clone(sql[:min(len(sql), infoSize)])}
	c.stmts[c.lastStmt] = p
	c.server.stmts.Add(1)
	return c.writePrepareOK(c.lastStmt, p.params, st.Columns())
}

// writePrepareOK sends the twelve bytes of a prepare-OK and the definitions
// that it announces.
func (c *conn) writePrepareOK(id uint32, params int, cols []Column) error {
	w := c.w
	w.begin()
	b := append(w.out, 0x00)
	b = binary.LittleEndian.AppendUint32(b, id)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(cols)))
	b = binary.LittleEndian.AppendUint16(b, uint16(params))
	w.out = append(b, 0, 0, 0)
	if err := w.end(); err != nil {
		return err
	}
	for range params {
		w.begin()
		w.out = appendParameter(w.out)
		if err := w.end(); err != nil {
			return err
		}
	}
	eof := !c.has(proto.CLIENT_DEPRECATE_EOF)
	if params > 0 && eof {
		if err := c.writeEOF(0, false); err != nil {
			return err
		}
	}
	for i := range cols {
		w.begin()
		w.out = appendColumn(w.out, &cols[i], false)
		if err := w.end(); err != nil {
			return err
		}
	}
	if len(cols) > 0 && eof {
		return c.writeEOF(0, false)
	}
	return nil
}

func (c *conn) statement(id uint32) (*prepared, error) {
	if p := c.stmts[id]; p != nil {
		return p, nil
	}
	return nil, doriserr.New(doriserr.UnknownStatement, "prepare statement %d not found,  maybe expired", id)
}

// commandExecute answers COM_STMT_EXECUTE.
func (c *conn) commandExecute(ctx context.Context, payload []byte) error {
	cur := cursor{b: payload}
	id := cur.uint32()
	cur.bytes(5) // cursor wish, which the result need not honour, and the count 1
	if cur.bad {
		return c.writeError(malformed("COM_STMT_EXECUTE is cut short"))
	}
	p, err := c.statement(id)
	if err != nil {
		return c.writeError(err)
	}
	c.note(p.text)
	err = p.longErr
	if err == nil {
		err = p.bind(cur.b)
	}
	c.rw.reset(true, false)
	if err == nil {
		err = p.Execute(ctx, &p.args, &c.rw)
	}
	p.clearLong(c)
	p.args = ExecuteArgs{}
	if err != nil {
		return c.fail(err)
	}
	return c.rw.finish()
}

// bind makes args from the rest of the payload, and keeps its types only if
// all of it is sound.
func (p *prepared) bind(b []byte) error {
	p.args = ExecuteArgs{LongData: p.long}
	if p.params == 0 {
		return nil
	}
	cur := cursor{b: b}
	nulls, bound := cur.bytes((p.params+7)/8), cur.uint8()
	if cur.bad {
		return malformed("no room for the NULL bitmap")
	}
	types := p.types
	switch bound {
	case 0:
		if types == nil {
			return malformed("parameter types were never sent")
		}
	case 1:
		raw := cur.bytes(2 * p.params)
		if cur.bad {
			return malformed("parameter types are cut short")
		}
		if types == nil || !sameTypes(types, raw) {
			types = make([]ParamType, p.params)
			for i := range types {
				types[i] = ParamType{Type: raw[2*i], Unsigned: raw[2*i+1]&0x80 != 0}
			}
		}
	default:
		return malformed("new-params-bound flag is neither 0 nor 1")
	}
	p.args.Types, p.args.NullBitmap, p.args.Values = types, nulls, cur.b
	if err := p.args.check(); err != nil {
		return err
	}
	p.types = types
	return nil
}

func sameTypes(types []ParamType, raw []byte) bool {
	for i, t := range types {
		if t.Type != raw[2*i] || t.Unsigned != (raw[2*i+1]&0x80 != 0) {
			return false
		}
	}
	return true
}

// commandLongData takes COM_STMT_SEND_LONG_DATA, which has no answer: what is
// wrong with it is told by the next execution.
func (c *conn) commandLongData(payload []byte) {
	cur := cursor{b: payload}
	id, param := cur.uint32(), int(cur.uint16())
	p := c.stmts[id]
	if p == nil || p.longErr != nil {
		return
	}
	limit := c.session.MaxAllowedPacket()
	switch n := len(cur.b); {
	case cur.bad:
		p.longErr = malformed("COM_STMT_SEND_LONG_DATA is cut short")
	case param >= p.params:
		p.longErr = malformed("long data for a parameter that does not exist")
	case len(p.long[param])+n > limit, c.longBytes+n > longDataPackets*limit:
		p.clearLong(c)
		p.longErr = doriserr.New(doriserr.PacketTooLarge,
			"Parameter of prepared statement which is set through mysql_send_long_data() is longer than 'max_allowed_packet' bytes")
	default:
		if p.long == nil {
			p.long = make(map[int][]byte)
		}
		p.long[param] = append(p.long[param], cur.b...)
		if p.long[param] == nil {
			p.long[param] = []byte{}
		}
		p.longBytes += n
		c.longBytes += n
	}
}

// commandStmtReset answers COM_STMT_RESET.
func (c *conn) commandStmtReset(payload []byte) error {
	cur := cursor{b: payload}
	p, err := c.statement(cur.uint32())
	if cur.bad {
		err = malformed("COM_STMT_RESET is cut short")
	}
	if err != nil {
		return c.writeError(err)
	}
	p.clearLong(c)
	return c.writeOK()
}

// commandStmtClose takes COM_STMT_CLOSE, which has no answer.
func (c *conn) commandStmtClose(payload []byte) {
	cur := cursor{b: payload}
	id := cur.uint32()
	if p := c.stmts[id]; p != nil {
		delete(c.stmts, id)
		c.closeStatement(p)
	}
}

func (c *conn) closeStatement(p *prepared) {
	p.clearLong(c)
	p.Close()
	c.server.stmts.Add(-1)
}

func (c *conn) closeStatements() {
	for id, p := range c.stmts {
		delete(c.stmts, id)
		c.closeStatement(p)
	}
}
