package be

import (
	"strings"
	"sync"
	"unicode/utf8"

	behttp "dorisgo/be/http"
	"dorisgo/rpc/bepb"
)

// recordText bounds each text of a record that a client chooses, in bytes.
const recordText = 1024

// records remembers the newest finished Stream Loads of this life for SHOW
// STREAM LOAD. They are a help for people and in memory only: what became of a
// load is known by its transaction. It is safe for concurrent use.
type records struct {
	mu   sync.Mutex
	max  int
	ring []*bepb.StreamLoadRecord
	// next is the place of the next record once the ring is full.
	next int
}

func (r *records) add(rec *bepb.StreamLoadRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.max <= 0:
	case len(r.ring) < r.max:
		r.ring = append(r.ring, rec)
	default:
		r.ring[r.next] = rec
		r.next = (r.next + 1) % r.max
	}
}

// list are the records of a database, oldest first.
func (r *records) list(db string) []*bepb.StreamLoadRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*bepb.StreamLoadRecord
	for i := range r.ring {
		if rec := r.ring[(r.next+i)%len(r.ring)]; rec.Db == db {
			out = append(out, rec)
		}
	}
	return out
}

// RecordLoads returns what remembers the newest finished Stream Loads, at most
// max of them, while on says so. It is called once, before the first load.
func (n *Node) RecordLoads(most int, on func() bool) func(*behttp.Finished) {
	n.records.mu.Lock()
	n.records.max = most
	n.records.mu.Unlock()
	return func(f *behttp.Finished) {
		if on() {
			n.records.add(record(f))
		}
	}
}

func record(f *behttp.Finished) *bepb.StreamLoadRecord {
	return &bepb.StreamLoadRecord{
		Label: cut(f.Label), Db: cut(f.DB), Table: cut(f.Table), ClientIp: f.ClientIP, Status: f.Status, Message: cut(f.Message), ErrorUrl: f.ErrorURL,
		TotalRows: f.Counts.Total, LoadedRows: f.Counts.Loaded, FilteredRows: f.Counts.Filtered, UnselectedRows: f.Counts.Unselected,
		LoadBytes: f.Bytes, StartMs: f.Start.UnixMilli(), FinishMs: f.End.UnixMilli(), User: cut(f.User), Comment: cut(f.Comment), FirstError: cut(f.FirstError),
	}
}

// cut shortens a text to recordText at a character's edge. What is not UTF-8 has
// no place in a message between nodes.
func cut(s string) string {
	if len(s) > recordText {
		n := recordText
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}
