package be

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	behttp "dorisgo/be/http"
	"dorisgo/load"
)

// TestRecords keeps the newest loads, in order, of the database that is asked
// for.
func TestRecords(t *testing.T) {
	n := &Node{}
	on := true
	add := n.RecordLoads(4, func() bool { return on })
	labels := func(db string) string {
		var out []string
		for _, r := range n.records.list(db) {
			out = append(out, r.Label)
		}
		return strings.Join(out, " ")
	}
	if got := labels("a"); got != "" {
		t.Errorf("%q before the first load", got)
	}
	for i := range 6 {
		add(&behttp.Finished{Label: fmt.Sprint("l", i), DB: []string{"a", "b"}[i%2]})
		if i == 2 && labels("a") != "l0 l2" {
			t.Errorf("%q of three", labels("a"))
		}
	}
	if a, b := labels("a"), labels("b"); a != "l2 l4" || b != "l3 l5" {
		t.Errorf("%q and %q of six", a, b)
	}
	on = false
	add(&behttp.Finished{Label: "l6", DB: "a"})
	if got := labels("a"); got != "l2 l4" {
		t.Errorf("%q when turned off", got)
	}
}

func TestRecord(t *testing.T) {
	start := time.UnixMilli(1000)
	r := record(&behttp.Finished{
		Label: "l", DB: "d", Table: "t", User: "u", ClientIP: "::1", Status: "Fail", Message: strings.Repeat("é", recordText), ErrorURL: "http://x", FirstError: "a\xffb",
		Counts: load.Counts{Total: 6, Loaded: 1, Filtered: 2, Unselected: 3}, Bytes: 9, Start: start, End: start.Add(time.Second),
	})
	if !utf8.ValidString(r.Message) || len(r.Message) > recordText+4 || !strings.HasSuffix(r.Message, "é…") {
		t.Errorf("a message of %d bytes", len(r.Message))
	}
	if r.FirstError != "a�b" || r.TotalRows != 6 || r.LoadedRows != 1 || r.FilteredRows != 2 || r.UnselectedRows != 3 || r.LoadBytes != 9 || r.StartMs != 1000 || r.FinishMs != 2000 ||
		r.User != "u" || r.ClientIp != "::1" || r.ErrorUrl != "http://x" || r.Status != "Fail" || r.Table != "t" {
		t.Errorf("%v", r)
	}
}
