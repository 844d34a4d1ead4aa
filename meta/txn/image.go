package txn

import (
	"cmp"
	"fmt"
	"slices"
)

// Image is a Book at one moment, for snapshots. Making one copies pointers,
// not transactions.
type Image struct {
	Clock  int64
	Term   uint64
	TermMs int64
	NextID int64
	// Txns are all transactions, forgotten ones included.
	Txns []*Txn
	// Finished is the queue of labels that may be given up, oldest first
	// within a database.
	Finished   []FinishedImage
	Partitions []PartitionImage
}

// FinishedImage is an entry of a database's queue of finished transactions.
type FinishedImage struct{ DBID, TxnID, Since int64 }

// PartitionImage is the version state of a partition.
type PartitionImage struct {
	ID, Visible, VisibleMs, Base int64
	// Log are the transactions of the versions above Base.
	Log     []int64
	Holders []int64
	Durable []DurableImage
	Missing []MissingImage
}

// DurableImage is the version that a backend reported durable.
type DurableImage struct{ BackendID, Version int64 }

// MissingImage are the committed versions that a replica lacks.
type MissingImage struct {
	TabletID, BackendID int64
	Versions            []int64
}

// Image is the Book now. Sort it before it is written.
func (b *Book) Image() *Image {
	img := &Image{
		Clock: b.clock, Term: b.term, TermMs: b.termMs, NextID: b.nextID,
		Txns: make([]*Txn, 0, len(b.txns)), Partitions: make([]PartitionImage, 0, len(b.parts)),
	}
	for _, t := range b.txns {
		img.Txns = append(img.Txns, t)
	}
	for id, d := range b.dbs {
		for _, f := range d.finished {
			img.Finished = append(img.Finished, FinishedImage{id, f.txnID, f.since})
		}
	}
	for id, p := range b.parts {
		img.Partitions = append(img.Partitions, p.image(id))
	}
	return img
}

func (p *partition) image(id int64) PartitionImage {
	img := PartitionImage{
		ID: id, Visible: p.visible, VisibleMs: p.visibleMs, Base: p.base,
		Log: slices.Clip(p.log), Holders: p.holders,
	}
	for backend, v := range p.durable {
		img.Durable = append(img.Durable, DurableImage{backend, v})
	}
	for r, versions := range p.missing {
		img.Missing = append(img.Missing, MissingImage{r.tablet, r.backend, versions})
	}
	return img
}

// Sort brings the image into the one order in which it is written, so that
// equal Books give equal bytes.
func (img *Image) Sort() {
	slices.SortFunc(img.Txns, func(a, b *Txn) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(img.Finished, func(a, b FinishedImage) int { return cmp.Compare(a.DBID, b.DBID) })
	slices.SortFunc(img.Partitions, func(a, b PartitionImage) int { return cmp.Compare(a.ID, b.ID) })
	for i := range img.Partitions {
		p := &img.Partitions[i]
		slices.SortFunc(p.Durable, func(a, b DurableImage) int { return cmp.Compare(a.BackendID, b.BackendID) })
		slices.SortFunc(p.Missing, func(a, b MissingImage) int {
			return cmp.Or(cmp.Compare(a.TabletID, b.TabletID), cmp.Compare(a.BackendID, b.BackendID))
		})
	}
}

// FromImage is the Book of a sorted image. It refuses one that contradicts
// itself.
func FromImage(img *Image) (*Book, error) {
	b := NewBook()
	b.clock, b.term, b.termMs, b.nextID = img.Clock, img.Term, img.TermMs, img.NextID
	for _, t := range img.Txns {
		if t.ID <= 0 || t.ID >= b.nextID || b.txns[t.ID] != nil {
			return nil, fmt.Errorf("transaction id %d is repeated or not below the next id %d", t.ID, b.nextID)
		}
		b.insert(t)
	}
	for _, f := range img.Finished {
		if t := b.txns[f.TxnID]; t == nil || !t.State.Final() || t.DBID != f.DBID {
			return nil, fmt.Errorf("finished transaction %d of database %d is unknown or not final", f.TxnID, f.DBID)
		}
		d := b.db(f.DBID)
		d.finished = append(d.finished, finished{f.TxnID, f.Since})
	}
	for i := range img.Partitions {
		if err := b.restorePartition(&img.Partitions[i]); err != nil {
			return nil, fmt.Errorf("partition %d: %w", img.Partitions[i].ID, err)
		}
	}
	return b, nil
}

func (b *Book) restorePartition(img *PartitionImage) error {
	p := &partition{
		visible: img.Visible, committed: img.Base + int64(len(img.Log)), visibleMs: img.VisibleMs, base: img.Base,
		log: img.Log, holders: img.Holders, durable: map[int64]int64{}, missing: map[replica][]int64{},
	}
	if p.visible < p.base || p.visible > p.committed {
		return fmt.Errorf("visible version %d is outside %d to %d", p.visible, p.base, p.committed)
	}
	for _, id := range p.log {
		if b.txns[id] == nil {
			return fmt.Errorf("its log names the unknown transaction %d", id)
		}
		b.pins[id]++
	}
	for _, d := range img.Durable {
		p.durable[d.BackendID] = d.Version
	}
	for _, m := range img.Missing {
		p.missing[replica{m.TabletID, m.BackendID}] = m.Versions
	}
	b.parts[img.ID] = p
	return nil
}
