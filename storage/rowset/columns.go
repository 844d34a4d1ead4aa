package rowset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"dorisgo/storage/internal/bin"
	"dorisgo/value"
)

// ColumnDesc is a column as a rowset was written with it. A later schema may
// have renamed, widened or dropped it: UniqueID is what the two share, and the
// field_id in Parquet files.
type ColumnDesc struct {
	UniqueID int32
	Name     string
	Type     value.Type
	Nullable bool
	// Key says that the column is part of the table's key, in column order.
	Key bool
}

// ColumnsID names a list of columns by its contents: the first half of the
// SHA-256 of its encoding. Records carry it in the place of the list, which a
// storage root keeps once.
type ColumnsID [16]byte

// String is the id in hexadecimal.
func (id ColumnsID) String() string { return hex.EncodeToString(id[:]) }

const columnsVersion = 1

const (
	flagNullable = 1 << iota
	flagKey
)

// AppendColumns appends the encoding of a column list (docs/format/rowset.md).
func AppendColumns(dst []byte, cols []ColumnDesc) []byte {
	dst = append(dst, columnsVersion)
	dst = binary.AppendUvarint(dst, uint64(len(cols)))
	for i := range cols {
		c := &cols[i]
		var flags byte
		if c.Nullable {
			flags |= flagNullable
		}
		if c.Key {
			flags |= flagKey
		}
		dst = binary.AppendUvarint(dst, uint64(uint32(c.UniqueID)))
		dst = append(dst, byte(c.Type.Kind), c.Type.Precision, c.Type.Scale)
		dst = binary.AppendUvarint(dst, uint64(c.Type.Length))
		dst = append(dst, flags)
		dst = binary.AppendUvarint(dst, uint64(len(c.Name)))
		dst = append(dst, c.Name...)
	}
	return dst
}

// DecodeColumns is the inverse of AppendColumns.
func DecodeColumns(src []byte) ([]ColumnDesc, error) {
	r := bin.NewReader(src)
	if v := r.Byte(); r.Err() == nil && v != columnsVersion {
		return nil, fmt.Errorf("cannot read columns: format version %d is newer than %d", v, columnsVersion)
	}
	n := r.Uvarint()
	// Seven bytes is the least that a column takes.
	if n > uint64(r.Len())/7 {
		return nil, fmt.Errorf("cannot read columns: %d of them: %w", n, bin.ErrShort)
	}
	cols := make([]ColumnDesc, n)
	for i := range cols {
		c := &cols[i]
		c.UniqueID = int32(r.Uvarint())
		c.Type.Kind = value.Kind(r.Byte())
		c.Type.Precision, c.Type.Scale = r.Byte(), r.Byte()
		c.Type.Length = uint32(r.Uvarint())
		flags := r.Byte()
		if flags&^(flagNullable|flagKey) != 0 {
			r.Fail(errors.New("unknown column flags"))
		}
		c.Nullable, c.Key = flags&flagNullable != 0, flags&flagKey != 0
		c.Name = string(r.Bytes(int(min(r.Uvarint(), uint64(r.Len())+1))))
	}
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("cannot read columns: %w", err)
	}
	return cols, nil
}

// HashColumns is the id of an encoded column list.
func HashColumns(encoded []byte) ColumnsID {
	sum := sha256.Sum256(encoded)
	return ColumnsID(sum[:16])
}

// KeyColumns are the indexes of the key columns, in order.
func KeyColumns(cols []ColumnDesc) []int {
	var keys []int
	for i := range cols {
		if cols[i].Key {
			keys = append(keys, i)
		}
	}
	return keys
}
