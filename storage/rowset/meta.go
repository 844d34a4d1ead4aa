package rowset

import (
	"encoding/hex"
	"hash/crc32"
)

// ID names a rowset everywhere: in commits, publishes, records and file names.
// It is random and never used again.
type ID [16]byte

// String is the id in hexadecimal.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

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

// Checksum is the CRC32C of rowset data, for Meta.Checksum.
func Checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }
