package exec

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
	"dorisgo/value"
)

// chunks are what a BE answers to a query, then its end.
type chunks struct {
	grpc.ClientStream
	list []*bepb.QueryChunk
	end  error
}

// Recv implements bepb.Backend_QueryClient.
func (c *chunks) Recv() (*bepb.QueryChunk, error) {
	if len(c.list) == 0 {
		return nil, c.end
	}
	next := c.list[0]
	c.list = c.list[1:]
	return next, nil
}

// one is a result of one row, cut off after n of its two chunks.
func one(n int, end error) *chunks {
	b := block.New([]value.Type{{Kind: value.Int}})
	if err := b.Col(0).AppendText([]byte("7"), &block.ConvertOptions{Strict: true}); err != nil {
		panic(err)
	}
	b.EndRow()
	head := &bepb.QueryChunk{Columns: []*bepb.ColumnDesc{{Name: "id", Kind: uint32(value.Int)}}}
	return &chunks{list: []*bepb.QueryChunk{head, {Block: block.AppendEncoded(nil, b)}}[:n], end: end}
}

// failing runs SELECT on a table with three replicas; fail says what becomes of
// each try, nil for its row. It returns the coordinators and the error.
func failing(t *testing.T, fail func(try int, be *meta.Backend, r *bepb.QueryRequest) (bepb.Backend_QueryClient, error)) (used []int64, err error) {
	t.Helper()
	w, _, run := replicatedThrough(t, 3)
	t.Cleanup(func() {
		if n := w.server.PlannedAgain(); n != uint64(len(used)-1) && err == nil {
			t.Errorf("%d plans count as made again of %d", n, len(used))
		}
	})
	w.answer = func(be *meta.Backend, r *bepb.QueryRequest) (bepb.Backend_QueryClient, error) {
		used = append(used, be.ID)
		stream, err := fail(len(used), be, r)
		if stream == nil && err == nil {
			return one(2, io.EOF), nil
		}
		return stream, err
	}
	r, err := run("SELECT id FROM db.t")
	if err == nil && (len(r.Rows) != 1 || *r.Rows[0][0] != "7") {
		t.Errorf("rows %v", r.Rows)
	}
	return used, err
}

func broken() error { return doriserr.New(doriserr.Unknown, "connection refused") }

// tabletOf is a tablet that a plan reads on a BE.
func tabletOf(r *bepb.QueryRequest, be int64) int64 {
	for _, t := range r.Tables[0].Tablets {
		if t.BackendId == be {
			return t.TabletId
		}
	}
	return 0
}

func distinct(ids []int64) int {
	seen := map[int64]bool{}
	for _, id := range ids {
		seen[id] = true
	}
	return len(seen)
}

// Whatever fails before the first row, each replica is tried once.
func TestFailover(t *testing.T) {
	type try = func(be *meta.Backend, r *bepb.QueryRequest) (bepb.Backend_QueryClient, error)
	at := func(kind doriserr.Kind) try {
		return func(be *meta.Backend, r *bepb.QueryRequest) (bepb.Backend_QueryClient, error) {
			err := doriserr.At(doriserr.New(kind, "no"), doriserr.Place{BackendID: be.ID, TabletID: tabletOf(r, be.ID)})
			return &chunks{end: doriserr.ToStatus(err)}, nil
		}
	}
	refused := func(*meta.Backend, *bepb.QueryRequest) (bepb.Backend_QueryClient, error) { return nil, broken() }
	lost := func(chunks int) try {
		return func(*meta.Backend, *bepb.QueryRequest) (bepb.Backend_QueryClient, error) {
			return one(chunks, broken()), nil
		}
	}
	elsewhere := func(be *meta.Backend, r *bepb.QueryRequest) (bepb.Backend_QueryClient, error) {
		return &chunks{end: doriserr.ToStatus(doriserr.At(broken(), doriserr.Place{BackendID: be.ID + 1}))}, nil
	}
	for _, tc := range []struct {
		name  string
		tries []try
		// plans is how many there are, backends how many coordinate.
		plans, backends int
		want            string
	}{
		{"nothing", nil, 1, 1, ""},
		{"one is away", []try{refused}, 2, 2, ""},
		{"two are away", []try{refused, refused}, 3, 3, ""},
		{"all are away", []try{refused, refused, refused}, 3, 3, "cannot be read: backend"},
		{"lost before its columns", []try{lost(0)}, 2, 2, ""},
		{"lost after its columns", []try{lost(1)}, 2, 2, ""},
		{"lost after a row", []try{lost(2)}, 1, 1, "connection refused"},
		{"the query kills", []try{lost(0), lost(0)}, 2, 2, "connection refused"},
		{"corrupt", []try{at(doriserr.Corrupt)}, 2, 2, ""},
		{"not published", []try{at(doriserr.NotPublished), at(doriserr.NotPublished)}, 3, 3, ""},
		{"gone once", []try{at(doriserr.VersionGone)}, 2, 2, ""},
		{"nothing to do with replicas", []try{func(*meta.Backend, *bepb.QueryRequest) (bepb.Backend_QueryClient, error) {
			return nil, doriserr.New(doriserr.ExceededLimit, "memory")
		}}, 1, 1, "memory"},
		{"a BE that is unknown", []try{elsewhere}, 2, 2, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			used, err := failing(t, func(try int, be *meta.Backend, r *bepb.QueryRequest) (bepb.Backend_QueryClient, error) {
				if try <= len(tc.tries) {
					return tc.tries[try-1](be, r)
				}
				return nil, nil
			})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if len(used) != tc.plans || distinct(used) != tc.backends {
				t.Errorf("the coordinators were %v, want %d plans on %d backends", used, tc.plans, tc.backends)
			}
		})
	}
}

// A version that is gone again and again is that replica's fault; what stays
// broken everywhere ends.
func TestFailoverEnds(t *testing.T) {
	plans := map[string]int{}
	used, err := failing(t, func(_ int, be *meta.Backend, r *bepb.QueryRequest) (bepb.Backend_QueryClient, error) {
		place := doriserr.Place{BackendID: be.ID, TabletID: tabletOf(r, be.ID)}
		plans[fmt.Sprint(place)]++
		return &chunks{end: doriserr.ToStatus(doriserr.At(doriserr.New(doriserr.VersionGone, "version gone"), place))}, nil
	})
	if err == nil || !strings.Contains(err.Error(), "version gone") || len(used) > maxPlans {
		t.Errorf("%d plans, %v", len(used), err)
	}
	for place, n := range plans {
		if n > 2 {
			t.Errorf("%s was tried %d times", place, n)
		}
	}
}
