package sink

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"
	"testing"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
	"dorisgo/storage/rowset"
)

// recorder is a Writer that keeps the rowsets of each backend in order, and
// fails from a backend's n-th call on.
type recorder struct {
	mu       sync.Mutex
	got      map[int64][]*bepb.Rowset
	calls    map[int64]int
	failFrom map[int64]int
}

var errDisk = doriserr.New(doriserr.ExceededLimit, "the disk is full")

func (r *recorder) WriteRowsets(_ context.Context, id int64, req *bepb.WriteRowsetsRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls, r.got = map[int64]int{}, map[int64][]*bepb.Rowset{}
	}
	r.calls[id]++
	if n, ok := r.failFrom[id]; ok && r.calls[id] >= n {
		return errDisk
	}
	r.got[id] = append(r.got[id], req.Rowsets...)
	return nil
}

func blocks(list ...*block.Block) func(context.Context) (*block.Block, error) {
	return func(context.Context) (*block.Block, error) {
		if len(list) == 0 {
			return nil, io.EOF
		}
		b := list[0]
		list = list[1:]
		return b, nil
	}
}

// TestWriteStreamParts: each block becomes one more rowset of the tablets that it
// has rows for, in order, under ids that follow from the first one's.
func TestWriteStreamParts(t *testing.T) {
	tb := table(meta.DuplicateKeys, []int{0}, []int64{1, 2, 3}, []int64{2, 3, 1})
	all := make([]row, 40)
	for i := range all {
		all[i] = row{key(int64(i % 10)), fmt.Sprint(i)}
	}
	w := &recorder{}
	got, err := newSink(nil, nil).with(w).WriteStream(t.Context(), Txn{ID: 9}, tb, blocks(blockOf(tb, all[:20]...), blockOf(tb, all[20:21]...), blockOf(tb, all[21:]...)))
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows != 40 || len(got.Partitions) != 1 || len(got.Partitions[0].Tablets) != 2 {
		t.Fatalf("written %v", got)
	}
	parts := []uint32{}
	var rows []string
	for _, tw := range got.Partitions[0].Tablets {
		parts = append(parts, tw.Parts)
		var sums []byte
		var n int64
		for _, rs := range w.got[1] {
			if rs.TabletId != tw.TabletId {
				continue
			}
			if want := rowset.ID(tw.RowsetId).Part(uint32(len(sums) / 4)); rowset.ID(rs.Id) != want {
				t.Errorf("tablet %d: rowset %x, want %s", tw.TabletId, rs.Id, want)
			}
			sums = binary.LittleEndian.AppendUint32(sums, rs.Checksum)
			n += rs.Rows
			for _, r := range decode(t, tb, rs.Data) {
				rows = append(rows, r.s)
			}
		}
		if tw.Rows != n || tw.Checksum != crc32.Checksum(sums, castagnoli) || !slices.Equal(tw.Backends, []int64{1, 2, 3}) {
			t.Errorf("tablet write %v has %d rows, checksums %x", tw, n, sums)
		}
	}
	slices.Sort(parts)
	if !slices.Equal(parts, []uint32{2, 3}) {
		t.Errorf("parts %v: one tablet has no row of the second block", parts)
	}
	slices.Sort(rows)
	want := make([]string, len(all))
	for i := range all {
		want[i] = all[i].s
	}
	slices.Sort(want)
	if !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
}

// TestWriteStreamLosesAReplica: a replica that refused one part holds nothing,
// gets no later part, and the load goes on with the majority, or fails.
func TestWriteStreamLosesAReplica(t *testing.T) {
	tb := table(meta.DuplicateKeys, []int{0}, []int64{1, 2, 3})
	three := func() func(context.Context) (*block.Block, error) {
		one := func() *block.Block { return blockOf(tb, row{key(1), "x"}) }
		return blocks(one(), one(), one())
	}
	w := &recorder{failFrom: map[int64]int{2: 2}}
	got, err := newSink(nil, nil).with(w).WriteStream(t.Context(), Txn{ID: 9}, tb, three())
	if err != nil {
		t.Fatal(err)
	}
	if tw := got.Partitions[0].Tablets[0]; !slices.Equal(tw.Backends, []int64{1, 3}) || tw.Parts != 3 || w.calls[2] != 2 {
		t.Errorf("written %v, calls %v", tw, w.calls)
	}
	w = &recorder{failFrom: map[int64]int{2: 2, 3: 3}}
	if _, err := newSink(nil, nil).with(w).WriteStream(t.Context(), Txn{ID: 9}, tb, three()); !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
}

// TestWriteStreamEnds: an error of the body is returned once the write under way
// has ended; an error of a write ends the reading of a body that never ends.
func TestWriteStreamEnds(t *testing.T) {
	tb := table(meta.DuplicateKeys, []int{0}, []int64{1})
	body := errors.New("the client is gone")
	n := 0
	_, err := newSink(nil, nil).with(&recorder{}).WriteStream(t.Context(), Txn{}, tb, func(context.Context) (*block.Block, error) {
		if n++; n == 3 {
			return nil, body
		}
		return blockOf(tb, row{key(1), "x"}), nil
	})
	if !errors.Is(err, body) {
		t.Errorf("error %v", err)
	}
	first := true
	_, err = newSink(nil, nil).with(&recorder{failFrom: map[int64]int{1: 1}}).WriteStream(t.Context(), Txn{}, tb, func(ctx context.Context) (*block.Block, error) {
		if first {
			first = false
			return blockOf(tb, row{key(1), "x"}), nil
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
	s := newSink(nil, nil)
	if !s.streams.TryAcquire(streamBytes) {
		t.Error("memory is still held")
	}
}

// with lets a sink write to w.
func (s *Sink) with(w Writer) *Sink {
	s.writer = w
	return s
}
