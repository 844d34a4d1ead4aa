package doriserr

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// codeBase is where our kinds start among gRPC status codes; gRPC's own end at
// 16 and numbers above travel unchanged.
const codeBase = 1000

// ToStatus is err as the status of an RPC between nodes: kind, text and place
// travel.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	s := status.New(codeOf(err), err.Error())
	if p, ok := PlaceOf(err); ok {
		if with, err := s.WithDetails(p.detail()); err == nil {
			s = with
		}
	}
	return s.Err()
}

func codeOf(err error) codes.Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return codes.Code(codeBase + uint32(e.Kind))
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	}
	return codeBase + codes.Code(Internal)
}

// FromStatus turns an RPC's error back. A status that is not one of ours comes
// from the transport: whether the peer did its work is Unknown then.
func FromStatus(err error) error {
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	out := fromStatus(s, err)
	if p, ok := placeIn(s.Details()); ok {
		return At(out, p)
	}
	return out
}

func fromStatus(s *status.Status, err error) error {
	if s.Code() >= codeBase {
		k := Kind(s.Code() - codeBase)
		if _, ok := table[k]; !ok {
			k = Internal
		}
		return &Error{Kind: k, Msg: s.Message()}
	}
	switch s.Code() {
	case codes.DeadlineExceeded:
		return &Error{Kind: Timeout, Msg: s.Message(), cause: context.DeadlineExceeded}
	case codes.Canceled:
		return &Error{Kind: Canceled, Msg: s.Message(), cause: context.Canceled}
	case codes.Unauthenticated, codes.PermissionDenied:
		return &Error{Kind: NoPrivilege, Msg: s.Message()}
	}
	return &Error{Kind: Unknown, Msg: s.Message(), cause: err}
}
