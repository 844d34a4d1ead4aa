package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
	"dorisgo/storage"
)

const (
	// fetchChunk is how much of a rowset goes in one message.
	fetchChunk = 1 << 20
	// sourceWait is how long a source that is about to publish the version that
	// is asked for is waited for.
	sourceWait = 5 * time.Second
)

// CloneTablet implements bepb.BackendServer: it fetches what this BE's replica of
// a tablet lacks from another BE. A replica that lacks nothing any more is
// answered at once.
func (s *Server) CloneTablet(ctx context.Context, r *bepb.CloneTabletRequest) (*bepb.CloneTabletReply, error) {
	if err := s.orders.check(r.MetaEpoch, r.Term); err != nil {
		return nil, doriserr.ToStatus(err)
	}
	reply, err := s.clone(ctx, r)
	if err != nil {
		return nil, doriserr.ToStatus(fmt.Errorf("tablet %d cannot be cloned from backend %d: %w", r.GetReplica().GetTabletId(), r.SourceId, err))
	}
	return reply, nil
}

func (s *Server) clone(ctx context.Context, r *bepb.CloneTabletRequest) (reply *bepb.CloneTabletReply, err error) {
	if r.Replica == nil || r.Base == nil {
		return nil, doriserr.New(doriserr.Internal, "the order names no replica or no partition")
	}
	partition, base := r.Base.PartitionId, r.Base.Base
	// All replicas of the partition are named: if this BE is behind the log they
	// all miss something.
	if _, err := s.Engine.Jump(ctx, partition, base, tabletReplicas(r.Base.Replicas)); err != nil {
		return nil, err
	}
	replica := tabletReplicas([]*bepb.TabletReplica{r.Replica})[0]
	target, err := s.Engine.BeginClone(ctx, partition, base, replica)
	if doriserr.Is(err, doriserr.Conflict) {
		// The order is of a replica that the log added after it had dropped ours.
		if removed := s.removeEarlier(ctx, replica); removed != nil {
			return nil, errors.Join(err, removed)
		}
		target, err = s.Engine.BeginClone(ctx, partition, base, replica)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if target.Whole(r.Version) {
		return &bepb.CloneTabletReply{Through: target.Through()}, nil
	}
	stream, err := s.Fetch(ctx, r.SourceId, &bepb.FetchTabletRequest{
		PartitionId: partition, TabletId: r.Replica.TabletId, Ends: target.Ends(), Version: target.Least(r.Version),
	})
	if err != nil {
		return nil, err
	}
	in := &fetchReader{stream: stream}
	plan, err := in.plan()
	if err != nil {
		return nil, err
	}
	reply = &bepb.CloneTabletReply{Rowsets: int64(len(plan.Rowsets))}
	for _, rs := range plan.Rowsets {
		data := storage.CloneRowset{Record: rs.Record, Columns: rs.Columns, Bytes: rs.Bytes}
		if err := target.Add(ctx, data, io.LimitReader(in, rs.Bytes)); err != nil {
			return nil, err
		}
		reply.Bytes += rs.Bytes
	}
	if err := in.end(); err != nil {
		return nil, err
	}
	reply.Through, err = target.Finish(ctx, plan.Keep, plan.Through)
	return reply, err
}

// removeEarlier removes an earlier replica of the tablet than r.
func (s *Server) removeEarlier(ctx context.Context, r storage.TabletReplica) error {
	for _, old := range s.Engine.Replicas() {
		if old.TabletID == r.TabletID && old.ReplicaID != 0 && old.ReplicaID < r.ReplicaID {
			return s.Engine.RemoveReplica(ctx, old.TabletID, old.ReplicaID)
		}
	}
	return nil
}

// fetchReader reads the data of a FetchTablet stream.
type fetchReader struct {
	stream bepb.Backend_FetchTabletClient
	rest   []byte
}

// plan is the first message.
func (f *fetchReader) plan() (*bepb.FetchTabletPlan, error) {
	chunk, err := f.stream.Recv()
	if err != nil {
		return nil, doriserr.FromStatus(err)
	}
	if chunk.Plan == nil {
		return nil, doriserr.New(doriserr.Corrupt, "the stream of a tablet begins without a plan")
	}
	return chunk.Plan, nil
}

// Read implements io.Reader.
func (f *fetchReader) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		chunk, err := f.stream.Recv()
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, doriserr.FromStatus(err)
		}
		f.rest = chunk.Data
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// end sees to it that all was read.
func (f *fetchReader) end() error {
	if n, err := f.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		return doriserr.New(doriserr.Corrupt, "the stream of a tablet does not end with its last rowset: %v", err)
	}
	return nil
}

// FetchTablet implements bepb.BackendServer.
func (s *Server) FetchTablet(r *bepb.FetchTabletRequest, stream bepb.Backend_FetchTabletServer) error {
	return doriserr.ToStatus(s.fetch(stream.Context(), r, stream.Send))
}

func (s *Server) fetch(ctx context.Context, r *bepb.FetchTabletRequest, send func(*bepb.FetchTabletChunk) error) (err error) {
	wait, cancel := context.WithTimeout(ctx, sourceWait)
	defer cancel()
	if err := s.Engine.WaitPublished(wait, r.PartitionId, r.Version); err != nil && wait.Err() == nil {
		return err
	}
	src, err := s.Engine.OpenClone(ctx, r.PartitionId, r.TabletId, r.Ends, r.Version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	plan := &bepb.FetchTabletPlan{Keep: src.Keep, Through: src.Through}
	for _, rs := range src.Rowsets {
		plan.Rowsets = append(plan.Rowsets, &bepb.FetchRowset{Record: rs.Record, Columns: rs.Columns, Bytes: rs.Bytes})
	}
	if err := send(&bepb.FetchTabletChunk{Plan: plan}); err != nil {
		return err
	}
	for i := range src.Rowsets {
		if err := sendRowset(ctx, src, i, send); err != nil {
			return err
		}
	}
	return nil
}

func sendRowset(ctx context.Context, src *storage.CloneSource, i int, send func(*bepb.FetchTabletChunk) error) (err error) {
	in, err := src.Read(ctx, i)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	for {
		// A message is not touched any more once it is sent.
		buf := make([]byte, min(fetchChunk, max(src.Rowsets[i].Bytes, 1)))
		n, err := io.ReadFull(in, buf)
		if n > 0 {
			if err := send(&bepb.FetchTabletChunk{Data: buf[:n]}); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}
