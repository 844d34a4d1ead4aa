package meta

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/proto"

	"dorisgo/doriserr"
	"dorisgo/meta/txn"
	"dorisgo/rpc/metapb"
)

// ErrNewerSnapshot means that a snapshot was written by a newer build.
var ErrNewerSnapshot = errors.New("snapshot of a newer format")

// Restore reads a snapshot that Write wrote. Damage, a missing end and what a
// newer build wrote are errors.
func Restore(in io.Reader) (*State, error) {
	r := &recordReader{r: bufio.NewReaderSize(in, 1<<16)}
	if err := r.header(); err != nil {
		return nil, fmt.Errorf("cannot read snapshot: %w", err)
	}
	s, img := New(), &txn.Image{}
	for {
		rec, err := r.next()
		if err != nil {
			return nil, fmt.Errorf("cannot read snapshot: record %d: %w", r.records, err)
		}
		if end := rec.GetEnd(); end != nil {
			if end.GetRecords() != r.records-1 {
				return nil, fmt.Errorf("cannot read snapshot: it has %d records and claims %d", r.records-1, end.GetRecords())
			}
			break
		}
		if err := s.restoreRecord(rec, img, r.records == 1); err != nil {
			return nil, fmt.Errorf("cannot read snapshot: record %d: %w", r.records, err)
		}
	}
	book, err := txn.FromImage(img)
	if err != nil {
		return nil, fmt.Errorf("cannot read snapshot: %w", err)
	}
	s.book = book
	s.limits = limitsOf(s.config)
	return s, nil
}

// restoreRecord takes one record into s, or into img if it is of transactions.
func (s *State) restoreRecord(rec *metapb.SnapshotRecord, img *txn.Image, first bool) error {
	if first != (rec.GetHead() != nil) {
		return errors.New("the head record is not the first one, or is repeated")
	}
	switch v := rec.GetBody().(type) {
	case *metapb.SnapshotRecord_Head:
		h := v.Head
		s.index, s.catalogIndex, s.clusterID, s.metaEpoch = h.GetIndex(), h.GetCatalogIndex(), h.GetClusterId(), h.GetMetaEpoch()
		s.featureLevel, s.nextID = h.GetFeatureLevel(), h.GetNextId()
		img.NextID, img.Clock, img.Term, img.TermMs = h.GetNextTxnId(), h.GetClock(), h.GetTerm(), h.GetTermMs()
	case *metapb.SnapshotRecord_Database:
		d := databaseFromPB(v.Database)
		s.dbs[d.ID], s.dbNames[d.Name] = d, d.ID
	case *metapb.SnapshotRecord_Table:
		t := tableFromPB(v.Table)
		s.putTable(t)
		s.names[tableName{t.DBID, t.Name}] = t.ID
	case *metapb.SnapshotRecord_Recycled:
		r := recycledFromPB(v.Recycled)
		s.recycled[r.Table.ID] = r
		if !r.Erased {
			s.place(r.Table)
		}
	case *metapb.SnapshotRecord_Backend:
		s.backends[v.Backend.GetId()] = backendFromPB(v.Backend)
	case *metapb.SnapshotRecord_Frontend:
		s.frontends[v.Frontend.GetId()] = frontendFromPB(v.Frontend)
	case *metapb.SnapshotRecord_User:
		s.users[v.User.GetName()] = userFromPB(v.User)
	case *metapb.SnapshotRecord_GlobalVar:
		s.vars[v.GlobalVar.GetName()] = v.GlobalVar.GetValue()
	case *metapb.SnapshotRecord_Config:
		s.config[v.Config.GetName()] = v.Config.GetValue()
	case *metapb.SnapshotRecord_Answer:
		s.answers.add(answerFromPB(v.Answer))
	case *metapb.SnapshotRecord_Txn:
		img.Txns = append(img.Txns, txnFromPB(v.Txn))
	case *metapb.SnapshotRecord_Finished:
		f := v.Finished
		img.Finished = append(img.Finished, txn.FinishedImage{DBID: f.GetDbId(), TxnID: f.GetTxnId(), Since: f.GetSince()})
	case *metapb.SnapshotRecord_Partition:
		img.Partitions = append(img.Partitions, versionsFromPB(v.Partition))
	default:
		return fmt.Errorf("%w: a record of unknown kind", ErrNewerSnapshot)
	}
	return nil
}

// recordReader reads framed records.
type recordReader struct {
	r       *bufio.Reader
	buf     bytes.Buffer
	records uint64
}

func (r *recordReader) header() error {
	head := make([]byte, len(snapshotMagic)+1)
	if _, err := io.ReadFull(r.r, head); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if string(head[:len(snapshotMagic)]) != snapshotMagic {
		return fmt.Errorf("not a snapshot: it starts with %q", head)
	}
	if v := head[len(snapshotMagic)]; v != SnapshotVersion {
		return fmt.Errorf("%w: version %d, this build knows %d", ErrNewerSnapshot, v, SnapshotVersion)
	}
	return nil
}

func (r *recordReader) next() (*metapb.SnapshotRecord, error) {
	r.records++
	size, err := binary.ReadUvarint(r.r)
	if err != nil {
		return nil, fmt.Errorf("length: %w", noEOF(err))
	}
	if size > maxRecord {
		return nil, fmt.Errorf("length %d is over the limit %d", size, maxRecord)
	}
	var sum [4]byte
	if _, err := io.ReadFull(r.r, sum[:]); err != nil {
		return nil, fmt.Errorf("checksum: %w", noEOF(err))
	}
	r.buf.Reset()
	if _, err := io.CopyN(&r.buf, r.r, int64(size)); err != nil {
		return nil, fmt.Errorf("payload: %w", noEOF(err))
	}
	if crc32.Checksum(r.buf.Bytes(), castagnoli) != binary.LittleEndian.Uint32(sum[:]) {
		return nil, errors.New("checksum does not match")
	}
	rec := &metapb.SnapshotRecord{}
	if err := proto.Unmarshal(r.buf.Bytes(), rec); err != nil {
		return nil, err
	}
	return rec, nil
}

// noEOF is err, with an end in the middle told from the end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func answerFromPB(p *metapb.Answer) *answer {
	a := &answer{id: idFromPB(p.GetRequestId()), result: resultFromPB(p.GetResult())}
	if p.GetFailed() {
		a.err = doriserr.New(doriserr.Kind(p.GetKind()), "%s", p.GetMsg())
	}
	return a
}
