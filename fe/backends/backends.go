// Package backends is an FE's way to BEs: one long-lived load stream to each,
// calls for queries and orders.
package backends

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/peer"
)

// Backends implements exec.Backends and txnmgr.Orders. It is safe for
// concurrent use; Close ends the load streams.
type Backends struct {
	pool *peer.Pool

	mu     sync.RWMutex
	loads  map[string]*peer.LoadClient
	local  map[string]Loader
	routes map[*meta.Backend]route
	closed bool
}

// route is where the loads for a BE go, so that its address need not be made
// for each. A BE of the catalog never changes; it is replaced.
type route struct {
	local  Loader
	stream *peer.LoadClient
}

// maxRoutes bounds what is remembered of BEs that were replaced.
const maxRoutes = 1000

// Loader takes loads in this process; be.Node implements it, and documents the
// methods.
type Loader interface {
	Load(ctx context.Context, item *bepb.LoadItem) (*bepb.LoadReply, error)
	Start(item *bepb.LoadItem, wake func()) (peer.Started, bool)
}

// SetLocal makes loads for the BE at an address go to a BE in this process.
func (b *Backends) SetLocal(addr string, l Loader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.local[addr] = l
	clear(b.routes)
}

// New returns a Backends over the node's connections.
func New(pool *peer.Pool) *Backends {
	return &Backends{pool: pool, loads: map[string]*peer.LoadClient{}, local: map[string]Loader{}, routes: map[*meta.Backend]route{}}
}

// Addr is a BE's gRPC address.
func Addr(b *meta.Backend) string { return net.JoinHostPort(b.Host, strconv.Itoa(b.RPCPort)) }

func (b *Backends) client(be *meta.Backend) (bepb.BackendClient, error) {
	conn, err := b.pool.Conn(Addr(be))
	if err != nil {
		return nil, err
	}
	return bepb.NewBackendClient(conn), nil
}

// Load sends one load on the BE's stream, or hands it to a BE in this process,
// and waits for its answer.
func (b *Backends) Load(ctx context.Context, be *meta.Backend, item *bepb.LoadItem) (*bepb.LoadReply, error) {
	r, err := b.route(be)
	if err != nil {
		return nil, err
	}
	if r.local != nil {
		return r.local.Load(ctx, item)
	}
	return r.stream.Send(ctx, item)
}

// Start is Load for an async load without its wait, as Loader.Start and
// peer.LoadClient.Start are.
func (b *Backends) Start(be *meta.Backend, item *bepb.LoadItem, wake func()) (peer.Started, bool) {
	r, err := b.route(be)
	if err != nil {
		return nil, false
	}
	if r.local != nil {
		return r.local.Start(item, wake)
	}
	return r.stream.Start(item, wake)
}

// route is the remembered route to a BE, or a new one.
func (b *Backends) route(be *meta.Backend) (route, error) {
	b.mu.RLock()
	r, ok := b.routes[be]
	b.mu.RUnlock()
	if ok {
		return r, nil
	}
	return b.find(be)
}

// find makes the route to a BE, and starts its load stream if there is none.
func (b *Backends) find(be *meta.Backend) (r route, err error) {
	addr := Addr(be)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return route{}, doriserr.New(doriserr.Stopping, "the frontend is stopping")
	}
	if r.local = b.local[addr]; r.local == nil {
		r.stream = b.stream(addr)
	}
	if len(b.routes) >= maxRoutes {
		clear(b.routes)
	}
	b.routes[be] = r
	return r, nil
}

// stream is the load stream to a BE, started if there is none. b.mu is held.
func (b *Backends) stream(addr string) *peer.LoadClient {
	if c := b.loads[addr]; c != nil {
		return c
	}
	c := peer.NewLoadClient(b.pool, addr)
	b.loads[addr] = c
	return c
}

// takeWait is how long a BE may need to take a statement. One that hangs is
// given up after it; one whose statement lasts is not.
const takeWait = 3 * time.Second

// Query starts a statement on its coordinator and returns when it was taken.
func (b *Backends) Query(ctx context.Context, be *meta.Backend, r *bepb.QueryRequest) (bepb.Backend_QueryClient, error) {
	c, err := b.client(be)
	if err != nil {
		return nil, err
	}
	return peer.Taken(ctx, takeWait, func(ctx context.Context) (bepb.Backend_QueryClient, error) { return c.Query(ctx, r) })
}

// Status asks a BE for its WAL counts.
func (b *Backends) Status(ctx context.Context, be *meta.Backend) (*bepb.StatusReply, error) {
	c, err := b.client(be)
	if err != nil {
		return nil, err
	}
	r, err := c.Status(ctx, &bepb.StatusRequest{})
	return r, doriserr.FromStatus(err)
}

// StreamLoads asks a BE for the finished Stream Loads of a database that it
// remembers.
func (b *Backends) StreamLoads(ctx context.Context, be *meta.Backend, db string) ([]*bepb.StreamLoadRecord, error) {
	c, err := b.client(be)
	if err != nil {
		return nil, err
	}
	stream, err := c.StreamLoads(ctx, &bepb.StreamLoadsRequest{Db: db})
	if err != nil {
		return nil, doriserr.FromStatus(err)
	}
	var out []*bepb.StreamLoadRecord
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, doriserr.FromStatus(err)
		}
		out = append(out, r.Records...)
	}
}

// Publish orders a BE to publish versions.
func (b *Backends) Publish(ctx context.Context, be *meta.Backend, r *bepb.PublishRequest) (*bepb.PublishReply, error) {
	reply := &bepb.PublishReply{}
	if err := b.pool.Calls(Addr(be), peer.PublishService).Call(ctx, r, reply); err != nil {
		return nil, err
	}
	return reply, nil
}

// CloneTablet orders a BE to fill a replica from another BE's.
func (b *Backends) CloneTablet(ctx context.Context, be *meta.Backend, r *bepb.CloneTabletRequest) (*bepb.CloneTabletReply, error) {
	c, err := b.client(be)
	if err != nil {
		return nil, err
	}
	reply, err := c.CloneTablet(ctx, r)
	return reply, doriserr.FromStatus(err)
}

// Close ends the load streams; loads that wait fail as LoadClient says.
func (b *Backends) Close() {
	b.mu.Lock()
	b.closed = true
	loads := b.loads
	b.loads = map[string]*peer.LoadClient{}
	clear(b.routes)
	b.mu.Unlock()
	for _, c := range loads {
		c.Close()
	}
}

// CheckTablet has a BE sum up a replica's rows.
func (b *Backends) CheckTablet(ctx context.Context, be *meta.Backend, r *bepb.CheckTabletRequest) (*bepb.CheckTabletReply, error) {
	c, err := b.client(be)
	if err != nil {
		return nil, err
	}
	reply, err := c.CheckTablet(ctx, r)
	return reply, doriserr.FromStatus(err)
}

// DistrustReplica orders a BE to take a replica out of service.
func (b *Backends) DistrustReplica(ctx context.Context, be *meta.Backend, r *bepb.DistrustReplicaRequest) error {
	c, err := b.client(be)
	if err != nil {
		return err
	}
	_, err = c.DistrustReplica(ctx, r)
	return doriserr.FromStatus(err)
}
