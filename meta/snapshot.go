package meta

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"

	"dorisgo/meta/txn"
	"dorisgo/rpc/metapb"
)

// The snapshot format (docs/format/snapshot.md): a magic, a version, then
// framed records, the last of which counts them.
const (
	snapshotMagic   = "DGOMETA"
	SnapshotVersion = 1
	maxRecord       = 256 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Snapshot is a State at one moment. Taking it copies maps of pointers, not
// objects; writing it may go on beside further calls of Apply.
type Snapshot struct {
	head      *metapb.SnapshotHead
	databases []*Database
	tables    []*Table
	recycled  []*RecycledTable
	backends  []*Backend
	frontends []*Frontend
	users     []*User
	vars      map[string]string
	config    map[string]string
	answers   []*answer
	txns      *txn.Image
}

// Snapshot is the State now. The State must not be changed during the call.
func (s *State) Snapshot() *Snapshot {
	img := s.book.Image()
	return &Snapshot{
		head: &metapb.SnapshotHead{
			Index: s.index, CatalogIndex: s.catalogIndex, ClusterId: s.clusterID, MetaEpoch: s.metaEpoch,
			FeatureLevel: s.featureLevel, NextId: s.nextID, NextTxnId: img.NextID,
			Clock: img.Clock, Term: img.Term, TermMs: img.TermMs,
		},
		databases: slices.Collect(maps.Values(s.dbs)), tables: slices.Collect(maps.Values(s.tables)),
		recycled: slices.Collect(maps.Values(s.recycled)), backends: slices.Collect(maps.Values(s.backends)),
		frontends: slices.Collect(maps.Values(s.frontends)), users: slices.Collect(maps.Values(s.users)),
		vars: s.vars, config: s.config, answers: s.answers.list(), txns: img,
	}
}

// Index is the raft index of the last command in the snapshot.
func (s *Snapshot) Index() uint64 { return s.head.GetIndex() }

// Write writes the snapshot. Equal States give equal bytes.
func (s *Snapshot) Write(out io.Writer) error {
	w := &recordWriter{w: bufio.NewWriterSize(out, 1<<16)}
	w.raw(append([]byte(snapshotMagic), SnapshotVersion))
	w.record(&metapb.SnapshotRecord{Body: &metapb.SnapshotRecord_Head{Head: s.head}})
	s.writeCatalog(w)
	s.writeTxns(w)
	w.record(&metapb.SnapshotRecord{Body: &metapb.SnapshotRecord_End{End: &metapb.SnapshotEnd{Records: w.records}}})
	if w.err == nil {
		w.err = w.w.Flush()
	}
	if w.err != nil {
		return fmt.Errorf("cannot write snapshot: %w", w.err)
	}
	return nil
}

func (s *Snapshot) writeCatalog(w *recordWriter) {
	for _, d := range sortedBy(slices.Values(s.databases), func(d *Database) int64 { return d.ID }) {
		w.record(&metapb.SnapshotRecord{Body: &metapb.SnapshotRecord_Database{Database: databaseToPB(d)}})
	}
	for _, t := range sortedBy(slices.Values(s.tables), func(t *Table) int64 { return t.ID }) {
		w.record(&metapb.SnapshotRecord{Body: &metapb.SnapshotRecord_Table{Table: tableToPB(t)}})
	}
	for _, r := range sortedBy(slices.Values(s.recycled), func(r *RecycledTable) int64 { return r.Table.ID }) {
		w.record(&metapb.SnapshotRecord{Body: &metapb.SnapshotRecord_Recycled{Recycled: recycledToPB(r)}})
	}
	for _, b := range sortedBy(slices.Values(s.backends), func(b *Backend) int64 { return b.ID }) {
		w.record(&metapb.SnapshotRecord{Body: &metapb.SnapshotRecord_Backend{Backend: backendToPB(b)}})
	}
	for _, f := range sortedBy(slices.Values(s.frontends), func(f *Frontend) string { return f.ID }) {
		w.record(&metapb.SnapshotRecord{Body: &metapb.SnapshotRecord_Frontend{Frontend: frontendToPB(f)}})
	}
	for _, u := range sortedBy(slices.Values(s.users), func(u *User) string { return u.Name }) {
		w.record(&metapb.SnapshotRecord{Body: &metapb.SnapshotRecord_User{User: userToPB(u)}})
	}
	for _, k := range slices.Sorted(maps.Keys(s.vars)) {
		w.record(&metapb.SnapshotRecord{Body: &metapb.SnapshotRecord_GlobalVar{GlobalVar: &metapb.Setting{Name: k, Value: s.vars[k]}}})
	}
	for _, k := range slices.Sorted(maps.Keys(s.config)) {
		w.record(&metapb.SnapshotRecord{Body: &metapb.SnapshotRecord_Config{Config: &metapb.Setting{Name: k, Value: s.config[k]}}})
	}
	for _, a := range s.answers {
		w.record(&metapb.SnapshotRecord{Body: &metapb.SnapshotRecord_Answer{Answer: answerToPB(a)}})
	}
}

func (s *Snapshot) writeTxns(w *recordWriter) {
	s.txns.Sort()
	for _, t := range s.txns.Txns {
		w.record(&metapb.SnapshotRecord{Body: &metapb.SnapshotRecord_Txn{Txn: txnToPB(t)}})
	}
	for _, f := range s.txns.Finished {
		w.record(&metapb.SnapshotRecord{Body: &metapb.SnapshotRecord_Finished{
			Finished: &metapb.FinishedTxn{DbId: f.DBID, TxnId: f.TxnID, Since: f.Since},
		}})
	}
	for i := range s.txns.Partitions {
		w.record(&metapb.SnapshotRecord{Body: &metapb.SnapshotRecord_Partition{Partition: versionsToPB(&s.txns.Partitions[i])}})
	}
}

// recordWriter frames records; after an error it does nothing.
type recordWriter struct {
	w       *bufio.Writer
	records uint64
	err     error
}

func (w *recordWriter) raw(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

func (w *recordWriter) record(r *metapb.SnapshotRecord) {
	if w.err != nil {
		return
	}
	payload, err := marshal(r)
	if err != nil {
		w.err = err
		return
	}
	frame := binary.AppendUvarint(nil, uint64(len(payload)))
	frame = binary.LittleEndian.AppendUint32(frame, crc32.Checksum(payload, castagnoli))
	w.raw(frame)
	w.raw(payload)
	w.records++
}

func versionsToPB(p *txn.PartitionImage) *metapb.PartitionState {
	return &metapb.PartitionState{
		Id: p.ID, Visible: p.Visible, VisibleMs: p.VisibleMs, Base: p.Base, Log: p.Log, Holders: p.Holders,
		Durable: each(p.Durable, func(d txn.DurableImage) *metapb.DurableState {
			return &metapb.DurableState{BackendId: d.BackendID, Version: d.Version}
		}),
		Missing: each(p.Missing, func(m txn.MissingImage) *metapb.MissingState {
			return &metapb.MissingState{TabletId: m.TabletID, BackendId: m.BackendID, Versions: m.Versions}
		}),
	}
}

func versionsFromPB(p *metapb.PartitionState) txn.PartitionImage {
	return txn.PartitionImage{
		ID: p.GetId(), Visible: p.GetVisible(), VisibleMs: p.GetVisibleMs(), Base: p.GetBase(), Log: p.GetLog(), Holders: p.GetHolders(),
		Durable: each(p.GetDurable(), func(d *metapb.DurableState) txn.DurableImage {
			return txn.DurableImage{BackendID: d.GetBackendId(), Version: d.GetVersion()}
		}),
		Missing: each(p.GetMissing(), func(m *metapb.MissingState) txn.MissingImage {
			return txn.MissingImage{TabletID: m.GetTabletId(), BackendID: m.GetBackendId(), Versions: m.GetVersions()}
		}),
	}
}

func answerToPB(a *answer) *metapb.Answer {
	p := &metapb.Answer{RequestId: idToPB(a.id), Result: resultToPB(&a.result)}
	if a.err != nil {
		p.Failed, p.Kind, p.Msg = true, uint32(a.err.Kind), a.err.Msg
	}
	return p
}
