package storage

import (
	"encoding/binary"

	"dorisgo/storage/rowset"
)

// The key space of a root's Pebble (docs/format/storage.md). Numbers are
// big-endian, so that keys sort by them. The letters b, k and s are kept for
// delete bitmaps, key indexes and row stores.
const (
	keyIdentity  = 'i' // the root's UUID and format version
	keyColumns   = 'c' // columns id -> column list
	keyTablet    = 't' // tablet -> partition, base, generation, dropped, replica, hole, cloned
	keyRemoved   = 'g' // tablet, replica -> partition
	keyPartition = 'q' // partition -> base, floor, dropped
	keyEntry     = 'v' // partition, version -> which rowsets were published
	keyPending   = 'p' // txn, tablet, rowset -> record
	keyOwner     = 'o' // txn -> owner epoch that fences off older owners
	keyLive      = 'r' // tablet, generation, end, seq -> record
	keyReplaced  = 'x' // tablet, generation, rowset -> record
	keyData      = 'd' // tablet, txn, rowset -> rows in the block codec
	keyLost      = 'l' // UUID of a root that the others went on without -> when, where
)

func key(letter byte, nums ...int64) []byte {
	k := make([]byte, 1, 1+8*len(nums)+16)
	k[0] = letter
	for _, n := range nums {
		k = binary.BigEndian.AppendUint64(k, uint64(n))
	}
	return k
}

func keyNum(k []byte, i int) int64 {
	return int64(binary.BigEndian.Uint64(k[1+8*i:]))
}

func pendingKey(txnID, tabletID int64, id rowset.ID) []byte {
	return append(key(keyPending, txnID, tabletID), id[:]...)
}

func dataKey(tabletID, txnID int64, id rowset.ID) []byte {
	return append(key(keyData, tabletID, txnID), id[:]...)
}

func columnsKey(id rowset.ColumnsID) []byte { return append(key(keyColumns), id[:]...) }

func liveKey(tabletID int64, gen uint32, end int64, seq uint32) []byte {
	k := binary.BigEndian.AppendUint32(key(keyLive, tabletID), gen)
	k = binary.BigEndian.AppendUint64(k, uint64(end))
	return binary.BigEndian.AppendUint32(k, seq)
}

func replacedKey(tabletID int64, gen uint32, id rowset.ID) []byte {
	return append(binary.BigEndian.AppendUint32(key(keyReplaced, tabletID), gen), id[:]...)
}

// keyLengths are the lengths that keys of a letter have.
var keyLengths = map[byte]int{
	keyIdentity: 1, keyColumns: 17, keyTablet: 9, keyRemoved: 17, keyPartition: 9, keyEntry: 17, keyPending: 33,
	keyOwner: 9, keyLive: 25, keyReplaced: 29, keyData: 33, keyLost: 17,
}

// prefixEnd is the least key that is greater than all keys that start with p.
// No prefix of ours consists of 0xff bytes only.
func prefixEnd(p []byte) []byte {
	end := append([]byte(nil), p...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
