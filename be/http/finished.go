package behttp

import (
	"net"
	"time"

	"dorisgo/load"
)

// Finished is a Stream Load as its client was answered.
type Finished struct {
	// Label is the load's, or that of its group.
	Label, DB, Table string
	// User is empty for a login by token.
	User, ClientIP                        string
	Status, Message, ErrorURL, FirstError string
	Comment                               string
	Counts                                load.Counts
	// Bytes are those of the body that came.
	Bytes      int64
	Start, End time.Time
}

// finished tells Options.Finished of a load.
func (l *request) finished(start time.Time) {
	if l.s.o.Finished == nil || !l.admitted {
		return
	}
	ip, _, err := net.SplitHostPort(l.r.RemoteAddr)
	if err != nil {
		ip = l.r.RemoteAddr
	}
	o := &l.out
	l.s.o.Finished(&Finished{
		Label: o.label, DB: l.db, Table: l.table, User: l.login.user, ClientIP: ip,
		Status: o.status, Message: o.message, ErrorURL: o.errorURL, FirstError: o.firstError, Comment: o.comment,
		Counts: o.counts, Bytes: o.received, Start: start, End: start.Add(o.total),
	})
}
