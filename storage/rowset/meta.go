package rowset

import (
	"encoding/binary"
	"encoding/hex"
	"hash"
	"hash/crc32"
)

// ID names a rowset everywhere: in commits, publishes, records and file names.
// It is random and never used again.
type ID [16]byte

// String is the id in hexadecimal.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Part is the id of the n-th rowset that one transaction wrote into a tablet,
// counted from 0, where id is the first one's: so that the metadata of a load
// need not name each of its rowsets.
func (id ID) Part(n uint32) ID {
	tail := id[len(id)-4:]
	binary.BigEndian.PutUint32(tail, binary.BigEndian.Uint32(tail)^n)
	return id
}

// Meta describes a rowset as its coordinator built it.
type Meta struct {
	ID          ID
	TabletID    int64
	PartitionID int64
	// TxnID is 0 for a rowset that a flush or compaction made.
	TxnID         int64
	SchemaVersion int32
	Columns       []ColumnDesc
	Rows          int64
	// Bytes is the size of the data in the block codec.
	Bytes int64
	// Checksum is the CRC32C of the data in the block codec, 0 for a rowset
	// that a flush or compaction made.
	Checksum uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// NewHash makes a Checksum of what is written to it.
func NewHash() hash.Hash32 { return crc32.New(castagnoli) }

// Checksum is the CRC32C of rowset data, for Meta.Checksum.
func Checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }
