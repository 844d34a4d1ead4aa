package replicatest

import "slices"

// model is what was committed, and nothing else: for each version of a partition
// the rowsets that its transaction brought each tablet.
type model struct {
	versions map[int64][]*committed // by partition; the first one is version 2
}

// committed is a version of a partition.
type committed struct {
	txn     int64
	tablets map[int64]*written
}

// written is what a transaction brings to a tablet: rowsets, in order, and all of
// their rows.
type written struct {
	partition, tablet int64
	id                [16]byte
	parts             uint32
	rows              []int64
}

func newModel() *model { return &model{versions: map[int64][]*committed{}} }

// commit takes the next version of a partition.
func (m *model) commit(partition, version int64, c *committed) bool {
	m.versions[partition] = append(m.versions[partition], c)
	return version == m.last(partition)
}

// last is a partition's committed version.
func (m *model) last(partition int64) int64 { return int64(len(m.versions[partition])) + 1 }

// at is a version, from 2 on.
func (m *model) at(partition, version int64) *committed { return m.versions[partition][version-2] }

// rows are those of a tablet at a version, sorted.
func (m *model) rows(partition, tablet, version int64) []int64 {
	var out []int64
	for _, c := range m.versions[partition][:version-1] {
		if w := c.tablets[tablet]; w != nil {
			out = append(out, w.rows...)
		}
	}
	slices.Sort(out)
	return out
}
