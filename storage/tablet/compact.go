package tablet

import (
	"slices"

	"dorisgo/storage/rowset"
)

// CompactPolicy says which files of a tablet are merged.
type CompactPolicy struct {
	// MinFiles is the least number of files that are worth a merge, at least 2;
	// MaxFiles the largest number of one merge.
	MinFiles, MaxFiles int
	// MaxBytes is how large an output may become, in bytes of the block codec. A
	// file of more than half of that stays as it is.
	MaxBytes int64
	// UpTo is the last version that may be merged, 0 for all.
	UpTo int64
}

// CompactRun returns neighbouring files to be merged, nil if there is nothing to
// do. It is size-tiered: going from new to old, a run takes in the next file as
// long as that is no larger than one and a half times all before it together. So a
// row is rewritten a few times while the data beside it grow tenfold, and the
// number of files grows with the logarithm of the data. (With files of one size:
// 4.7 files after 60 and 6.7 after 1,000, each row written 4.2 times; taking only
// files as large as those before it leaves 5.4 and 8.1, written 3.5 times.) The
// newest run comes first, since it is the cheapest one.
func (g *Graph) CompactRun(p CompactPolicy) []*Rowset {
	for end := len(g.live); end > 0; {
		if !p.mergeable(g.live[end-1]) {
			end--
			continue
		}
		start, bytes := end-1, g.live[end-1].Bytes
		for start > 0 && end-start < p.MaxFiles {
			next := g.live[start-1]
			if !p.mergeable(next) || next.ColumnsID != g.live[end-1].ColumnsID || next.Bytes > bytes+bytes/2 || bytes+next.Bytes > p.MaxBytes {
				break
			}
			bytes += next.Bytes
			start--
		}
		if end-start >= p.MinFiles {
			return slices.Clone(g.live[start:end])
		}
		end--
	}
	return nil
}

func (p CompactPolicy) mergeable(rs *Rowset) bool {
	return rs.Kind == rowset.File && !rs.Damaged && rs.Bytes <= p.MaxBytes/2 && (p.UpTo == 0 || rs.End <= p.UpTo)
}

// Len is the number of live rowsets.
func (g *Graph) Len() int { return len(g.live) }

// Count is the number of live rowsets, Files that of the files among them.
func (g *Graph) Count() (all, files int) {
	for _, rs := range g.live {
		if rs.Kind == rowset.File {
			files++
		}
	}
	return len(g.live), files
}
