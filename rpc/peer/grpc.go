package peer

import (
	"context"
	"crypto/subtle"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// tokenKey is the metadata key of the cluster token.
const tokenKey = "dorisgo-token"

// maxMessage bounds one message between nodes: a rowset of one tablet, or a
// frame of loads, in bytes.
const maxMessage = 1 << 30

const badToken = "the cluster token is missing or wrong: set cluster_token alike on every node"

// newGRPC returns a gRPC server that answers only peers that carry the token.
func newGRPC(token string) *grpc.Server {
	check := func(ctx context.Context) error {
		if token == "" {
			return nil
		}
		md, _ := metadata.FromIncomingContext(ctx)
		for _, got := range md.Get(tokenKey) {
			if subtle.ConstantTimeCompare([]byte(got), []byte(token)) == 1 {
				return nil
			}
		}
		return status.Error(codes.Unauthenticated, badToken)
	}
	return grpc.NewServer(
		// What handlers use is closed after Stop.
		grpc.WaitForHandlers(true),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
		grpc.InitialWindowSize(4<<20),
		grpc.InitialConnWindowSize(8<<20),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := check(ctx); err != nil {
				return nil, err
			}
			return next(ctx, req)
		}),
		grpc.StreamInterceptor(func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := check(ss.Context()); err != nil {
				return err
			}
			// Taken waits for it.
			if info.IsServerStream {
				if err := ss.SendHeader(nil); err != nil {
					return err
				}
			}
			return next(srv, ss)
		}),
	)
}
