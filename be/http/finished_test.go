package behttp

import (
	"strings"
	"sync"
	"testing"
	"time"

	"dorisgo/load"
)

// TestFinishedLoads: each load that had a login is told as its client was
// answered.
func TestFinishedLoads(t *testing.T) {
	var mu sync.Mutex
	var told []*Finished
	r := newRig(t, func(o *Options) {
		o.Finished = func(f *Finished) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, f)
		}
	})
	for _, tt := range []struct {
		name    string
		send    func() reply
		want    Finished
		message string
	}{
		{
			"success", func() reply { return r.put("1,a,2\n", "label", "l1", "comment", "why") },
			Finished{Label: "l1", DB: "db", Table: "t3", User: "root", ClientIP: "127.0.0.1", Status: "Success", Comment: "why", Counts: load.Counts{Total: 1, Loaded: 1}, Bytes: 6}, "OK",
		},
		{
			"a group", func() reply { return r.put("1,a,2\n", "group_commit", "async_mode") },
			Finished{Label: "group_commit_0a1b2c3d4e5f6071_8293a4b5c6d7e8f9", DB: "db", Table: "t3", User: "root", ClientIP: "127.0.0.1", Status: "Success", Counts: load.Counts{Total: 1, Loaded: 1}, Bytes: 6}, "OK",
		},
		{
			"bad rows", func() reply { return r.put("x,a,1\n", "label", "l2") },
			Finished{Label: "l2", DB: "db", Table: "t3", User: "root", ClientIP: "127.0.0.1", Status: "Fail", Counts: load.Counts{Total: 1, Filtered: 1}, Bytes: 6}, "[DATA_QUALITY_ERROR]too many filtered rows",
		},
		{
			"unknown table", func() reply { return r.do(r.request("PUT", "/api/db/none/_stream_load", strings.NewReader("1\n"))) },
			Finished{DB: "db", Table: "none", User: "root", ClientIP: "127.0.0.1", Status: "Fail"}, "unknown table, table=none",
		},
	} {
		start := time.Now()
		tt.send()
		mu.Lock()
		if len(told) != 1 {
			t.Fatalf("%s: %d loads were told", tt.name, len(told))
		}
		got := *told[0]
		told = nil
		mu.Unlock()
		if !strings.Contains(got.Message, tt.message) || got.Start.Before(start.Add(-time.Millisecond)) || got.End.Before(got.Start) {
			t.Errorf("%s: %+v", tt.name, got)
		}
		if bad := tt.want.Status == statusFail && tt.want.Counts.Filtered > 0; bad != (got.ErrorURL != "") || bad != (got.FirstError != "") {
			t.Errorf("%s: error log %q, %q", tt.name, got.ErrorURL, got.FirstError)
		}
		got.Message, got.ErrorURL, got.FirstError, got.Start, got.End = "", "", "", time.Time{}, time.Time{}
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
	r.put("1,a,2\n", "Authorization", "Basic eDp5")
	r.put("1,a,2\n", "timeout", "never")
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 0 {
		t.Errorf("loads without a good head and login were told: %+v", told)
	}
}
