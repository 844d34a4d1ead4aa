package txn

import "slices"

// expireLabels gives up finished transactions that are too old or too many.
// The order in which databases are looked at does not matter: they share
// nothing.
func (b *Book) expireLabels(d *dbBook, lim *Limits) {
	n := 0
	for _, f := range d.finished {
		age := b.clock - f.since
		tooMany := len(d.finished)-n > lim.LabelMax && age >= lim.LabelGraceMs
		if age < lim.LabelKeepMs && !tooMany {
			break
		}
		b.forget(d, f.txnID)
		n++
	}
	if n > 0 {
		d.finished = slices.Clone(d.finished[n:])
	}
}

// CleanLabel gives up the finished transactions of a database with a label, or
// all if the label is empty, and returns their number. Undecided and committed
// transactions and groups whose WAL is not released keep theirs (rule 3).
func (b *Book) CleanLabel(dbID int64, label string) int {
	d := b.dbs[dbID]
	if d == nil {
		return 0
	}
	var kept []finished
	for _, f := range d.finished {
		if label != "" && b.txns[f.txnID].Label != label {
			kept = append(kept, f)
			continue
		}
		b.forget(d, f.txnID)
	}
	n := len(d.finished) - len(kept)
	d.finished = kept
	return n
}

// forget drops a finished transaction. While a replica may need its publish
// list, the object stays, found by no label, id or request.
func (b *Book) forget(d *dbBook, id int64) {
	t := b.txns[id]
	if d.labels[t.Label] == id {
		delete(d.labels, t.Label)
	}
	delete(b.requests, t.RequestID)
	if b.pins[id] == 0 {
		delete(b.txns, id)
		return
	}
	next := *t
	next.Forgotten = true
	b.txns[id] = &next
}
