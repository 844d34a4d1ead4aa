package peer

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"
)

// Pool holds the connections to peers, one of gRPC for each address and one for
// messages for each service. It is safe for concurrent use; Close ends all
// connections.
type Pool struct {
	token string
	pipes *Pipes

	mu    sync.Mutex
	conns map[string]*grpc.ClientConn
	calls map[service]*Calls
	done  bool
}

// service is one that a peer offers for messages.
type service struct{ addr, name string }

// NewPool returns a pool whose calls carry the token. Addresses that pipes
// knows are dialled in-process; pipes may be nil.
func NewPool(token string, pipes *Pipes) *Pool {
	return &Pool{token: token, pipes: pipes, conns: map[string]*grpc.ClientConn{}, calls: map[service]*Calls{}}
}

// Conn is the connection to addr ("host:port", looked up at each dial). It is
// returned before it is up; calls wait for it as their context allows.
func (p *Pool) Conn(addr string) (*grpc.ClientConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return nil, fmt.Errorf("cannot dial %q: the node is stopping", addr)
	}
	if c := p.conns[addr]; c != nil {
		return c, nil
	}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 2 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true}),
		grpc.WithInitialWindowSize(4 << 20),
		grpc.WithInitialConnWindowSize(8 << 20),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithChainUnaryInterceptor(p.unary),
		grpc.WithChainStreamInterceptor(p.stream),
	}
	target := "dns:///" + addr
	if l := p.pipes.find(addr); l != nil {
		target = "passthrough:///" + addr
		opts = append(opts, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	}
	c, err := grpc.NewClient(target, opts...)
	if err != nil {
		return nil, fmt.Errorf("cannot dial %q: %w", addr, err)
	}
	p.conns[addr] = c
	return c, nil
}

// Calls are the calls to a service of the peer at addr (HandleCalls). Close ends
// them.
func (p *Pool) Calls(addr, name string) *Calls {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := service{addr, name}
	c := p.calls[key]
	if c == nil {
		c = newCalls(func(ctx context.Context) (*Messages, error) { return p.Open(ctx, addr, name) })
		p.calls[key] = c
	}
	return c
}

func (p *Pool) with(ctx context.Context) context.Context {
	if p.token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, tokenKey, p.token)
}

func (p *Pool) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(p.with(ctx), method, req, reply, cc, opts...)
}

func (p *Pool) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return open(p.with(ctx), desc, cc, method, opts...)
}

// Close ends every connection; later calls to Conn fail.
func (p *Pool) Close() {
	p.mu.Lock()
	p.done = true
	for _, c := range p.conns {
		c.Close()
	}
	clear(p.conns)
	calls := p.calls
	p.calls = map[service]*Calls{}
	p.mu.Unlock()
	for _, c := range calls {
		c.Close() // waits for one that dials, which asks for mu
	}
}

// Pipes are the addresses that are served in this process. A nil *Pipes knows
// none.
type Pipes struct {
	mu    sync.Mutex
	pipes map[string]*bufconn.Listener
}

// Listen makes addr an in-process address and returns its listener.
func (p *Pipes) Listen(addr string) net.Listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pipes == nil {
		p.pipes = map[string]*bufconn.Listener{}
	}
	l := bufconn.Listen(1 << 20)
	p.pipes[addr] = l
	return l
}

func (p *Pipes) find(addr string) *bufconn.Listener {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pipes[addr]
}
