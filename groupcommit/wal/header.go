package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"dorisgo/value"
)

const (
	magic = "DGWL"
	// FormatVersion is the version of the file format that is written. Files of
	// every version from 1 on are read.
	FormatVersion = 2
	// paddedFrom is the first version whose files may end in padding.
	paddedFrom = 2
	prefixLen  = 16
	// maxHeader bounds the memory that a damaged length can ask for.
	maxHeader = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header is everything that a replay must know about a file without asking
// anybody (docs/protocol.md, rule 8). The FSM knows the group by TxnID,
// ClusterID and MetaEpoch; the label is for people.
type Header struct {
	ClusterID   string
	MetaEpoch   uint64
	BackendUUID string
	BackendID   int64
	TxnID       int64
	// OwnerEpoch is the owner epoch at creation; take-overs raise it in the
	// FSM and leave the file alone.
	OwnerEpoch    uint64
	Label         string
	DBID          int64
	TableID       int64
	TableEpoch    uint64
	SchemaVersion int32
	// Ordered says that the table's groups commit in opening order
	// (docs/protocol.md, rule 14), in replay too.
	Ordered bool
	// Columns are the table's columns as the blocks of this file hold them.
	Columns []Column
	// Facts are settings that the rows were made under (time_zone, ...), for
	// the converter and for people.
	Facts []Fact
	// CreatedMs is the wall clock at creation, for ages in metrics.
	CreatedMs int64
	// Version is the file's format, set by OpenReader.
	Version uint16
	// Salt makes the frames' checksums private to this file, so that no row's
	// contents can pass for a frame. Create draws it.
	Salt uint64
}

// Column describes one column of the file's blocks.
type Column struct {
	UniqueID int32
	Name     string
	Type     value.Type
	Nullable bool
}

// Fact is one named setting.
type Fact struct{ Name, Value string }

// Types are the column types in order, as package block wants them.
func (h *Header) Types() []value.Type {
	types := make([]value.Type, len(h.Columns))
	for i := range h.Columns {
		types[i] = h.Columns[i].Type
	}
	return types
}

// FileName is the name that the header's file bears.
func (h *Header) FileName() string {
	return fmt.Sprintf("%d_%d_%d_%s", FormatVersion, h.BackendID, h.TxnID, h.Label)
}

// parseFileName takes a name apart by its first three underscores.
func parseFileName(name string) (version uint64, backendID, txnID int64, label string, ok bool) {
	parts := strings.SplitN(name, "_", 4)
	if len(parts) != 4 || parts[3] == "" {
		return 0, 0, 0, "", false
	}
	version, err1 := strconv.ParseUint(parts[0], 10, 16)
	backendID, err2 := strconv.ParseInt(parts[1], 10, 64)
	txnID, err3 := strconv.ParseInt(parts[2], 10, 64)
	return version, backendID, txnID, parts[3], errors.Join(err1, err2, err3) == nil
}

// appendHeader appends the encoded header and returns the body's checksum,
// which seeds the checksums of all frames.
func appendHeader(dst []byte, h *Header) ([]byte, uint32) {
	body := appendBody(nil, h)
	start := len(dst)
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint16(dst, FormatVersion)
	dst = binary.LittleEndian.AppendUint16(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body)))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
	dst = append(dst, body...)
	seed := crc32.Checksum(body, castagnoli)
	return binary.LittleEndian.AppendUint32(dst, seed), seed
}

func appendBody(b []byte, h *Header) []byte {
	b = appendString(b, h.ClusterID)
	b = binary.AppendUvarint(b, h.MetaEpoch)
	b = appendString(b, h.BackendUUID)
	b = binary.AppendVarint(b, h.BackendID)
	b = binary.AppendVarint(b, h.TxnID)
	b = binary.AppendUvarint(b, h.OwnerEpoch)
	b = appendString(b, h.Label)
	b = binary.AppendVarint(b, h.DBID)
	b = binary.AppendVarint(b, h.TableID)
	b = binary.AppendUvarint(b, h.TableEpoch)
	b = binary.AppendVarint(b, int64(h.SchemaVersion))
	b = append(b, boolByte(h.Ordered))
	b = binary.AppendVarint(b, h.CreatedMs)
	b = binary.LittleEndian.AppendUint64(b, h.Salt)
	b = binary.AppendUvarint(b, uint64(len(h.Columns)))
	for i := range h.Columns {
		c := &h.Columns[i]
		b = binary.AppendVarint(b, int64(c.UniqueID))
		b = appendString(b, c.Name)
		b = append(b, byte(c.Type.Kind), c.Type.Precision, c.Type.Scale)
		b = binary.AppendUvarint(b, uint64(c.Type.Length))
		b = append(b, boolByte(c.Nullable))
	}
	b = binary.AppendUvarint(b, uint64(len(h.Facts)))
	for _, f := range h.Facts {
		b = appendString(b, f.Name)
		b = appendString(b, f.Value)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func boolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// bodyReader reads the fields of a header's body; the first one that does not
// fit sets bad, and everything after it reads as zero.
type bodyReader struct {
	b   []byte
	bad bool
}

func (r *bodyReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

func (r *bodyReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *bodyReader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *bodyReader) byte() byte {
	if p := r.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (r *bodyReader) string() string { return string(r.take(r.uvarint())) }

func parseBody(b []byte) (Header, error) {
	r := &bodyReader{b: b}
	var h Header
	h.ClusterID = r.string()
	h.MetaEpoch = r.uvarint()
	h.BackendUUID = r.string()
	h.BackendID = r.varint()
	h.TxnID = r.varint()
	h.OwnerEpoch = r.uvarint()
	h.Label = r.string()
	h.DBID = r.varint()
	h.TableID = r.varint()
	h.TableEpoch = r.uvarint()
	h.SchemaVersion = int32(r.varint())
	h.Ordered = r.byte() != 0
	h.CreatedMs = r.varint()
	if p := r.take(8); p != nil {
		h.Salt = binary.LittleEndian.Uint64(p)
	}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		c := Column{UniqueID: int32(r.varint()), Name: r.string()}
		c.Type = value.Type{Kind: value.Kind(r.byte()), Precision: r.byte(), Scale: r.byte()}
		c.Type.Length = uint32(r.uvarint())
		c.Nullable = r.byte() != 0
		h.Columns = append(h.Columns, c)
	}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		h.Facts = append(h.Facts, Fact{Name: r.string(), Value: r.string()})
	}
	if r.bad || len(r.b) != 0 {
		return Header{}, errors.New("header body does not parse")
	}
	return h, nil
}
