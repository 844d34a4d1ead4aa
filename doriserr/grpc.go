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

// ToStatus is err as the status of an RPC between nodes: kind and text travel.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return status.Error(codes.Code(codeBase+uint32(e.Kind)), err.Error())
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, err.Error())
	}
	return status.Error(codeBase+codes.Code(Internal), err.Error())
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
