package gossip

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// Role is what a node does.
type Role string

// The roles.
const (
	FE Role = "fe"
	BE Role = "be"
)

// Info is what a node says of itself; it must fit memberlist's 512 bytes.
type Info struct {
	Role Role   `json:"r"`
	UUID string `json:"u"`
	// RPC is the address (host:port) of the node's gRPC server.
	RPC string `json:"a"`
}

// Events hears of changes. The methods are called by one goroutine at a time
// and must not block.
type Events interface {
	Joined(Info)
	Gone(Info)
}

// Config is how a node takes part.
type Config struct {
	Info Info
	// Bind is the address to listen on, UDP and TCP.
	BindHost string
	BindPort int
	// Advertise is the IP that peers use; empty: the first private one.
	Advertise string
	// Seeds are addresses (host:port) of nodes to join; names are looked up at
	// each try.
	Seeds  []string
	Token  string
	Events Events
	Logger *slog.Logger
	// Rejoin is the time between looks for missing seeds, 10 s by default.
	Rejoin time.Duration
}

// Gossip is this node's part in the cluster's gossip.
type Gossip struct {
	list   *memberlist.Memberlist
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// maxMeta is memberlist's limit of a node's metadata, in bytes; more panics.
const maxMeta = memberlist.MetaMaxSize

// Start listens and joins the seeds in the background, again and again until
// they are members. It fails only if it cannot listen.
func Start(cfg Config) (*Gossip, error) {
	meta, err := json.Marshal(cfg.Info)
	if err != nil {
		return nil, fmt.Errorf("cannot encode this node's gossip metadata: %w", err)
	}
	if len(meta) > maxMeta {
		return nil, fmt.Errorf("this node's gossip metadata take %d bytes, more than %d: shorten the address %q", len(meta), maxMeta, cfg.Info.RPC)
	}
	mc := memberlist.DefaultLANConfig()
	nonce := make([]byte, 4)
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("cannot make a boot nonce: %w", err)
	}
	mc.Name = cfg.Info.UUID + "-" + hex.EncodeToString(nonce)
	mc.BindAddr, mc.BindPort = cfg.BindHost, cfg.BindPort
	mc.AdvertiseAddr, mc.AdvertisePort = cfg.Advertise, cfg.BindPort
	mc.DeadNodeReclaimTime = 30 * time.Second
	mc.Logger = log.New(logWriter{cfg.Logger}, "", 0)
	mc.Delegate = delegate{meta}
	if cfg.Events != nil {
		mc.Events = &events{to: cfg.Events, self: mc.Name}
	}
	if cfg.Token != "" {
		key := sha256.Sum256([]byte("dorisgo gossip\x00" + cfg.Token))
		mc.SecretKey = key[:]
	}
	list, err := memberlist.Create(mc)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for gossip on %s: %w", net.JoinHostPort(cfg.BindHost, strconv.Itoa(cfg.BindPort)), err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &Gossip{list: list, cancel: cancel}
	rejoin := cfg.Rejoin
	if rejoin <= 0 {
		rejoin = 10 * time.Second
	}
	g.wg.Go(func() { g.keepJoined(ctx, cfg.Seeds, rejoin, cfg.Logger) })
	return g, nil
}

// keepJoined joins seeds while one of them is not a member.
func (g *Gossip) keepJoined(ctx context.Context, seeds []string, every time.Duration, log *slog.Logger) {
	wait := 100 * time.Millisecond
	for {
		if missing := g.missing(ctx, seeds); len(missing) > 0 {
			if _, err := g.list.Join(missing); err != nil {
				log.Debug("gossip: seeds do not answer yet", "seeds", strings.Join(missing, ","), "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = min(2*wait, every)
	}
}

// missing are the seeds none of whose addresses is a member's.
func (g *Gossip) missing(ctx context.Context, seeds []string) []string {
	members := map[string]bool{}
	for _, m := range g.list.Members() {
		members[net.JoinHostPort(m.Addr.String(), strconv.Itoa(int(m.Port)))] = true
	}
	var out []string
	for _, s := range seeds {
		host, port, err := net.SplitHostPort(s)
		if err != nil {
			continue
		}
		ips, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			ips = []string{host}
		}
		found := false
		for _, ip := range ips {
			found = found || members[net.JoinHostPort(ip, port)]
		}
		if !found {
			out = append(out, s)
		}
	}
	return out
}

// Members are the nodes that seem alive, this one included.
func (g *Gossip) Members() []Info {
	var out []Info
	for _, m := range g.list.Members() {
		if info, ok := decode(m); ok {
			out = append(out, info)
		}
	}
	return out
}

// Port is the port that gossip listens on.
func (g *Gossip) Port() int { return int(g.list.LocalNode().Port) }

// Stop says goodbye to the others, for at most a second, and ends.
func (g *Gossip) Stop() error {
	g.cancel()
	g.wg.Wait()
	leave := g.list.Leave(time.Second)
	if err := g.list.Shutdown(); err != nil {
		return fmt.Errorf("cannot stop gossip: %w", err)
	}
	if leave != nil {
		return fmt.Errorf("cannot leave the gossip cluster: %w", leave)
	}
	return nil
}

func decode(n *memberlist.Node) (Info, bool) {
	var info Info
	if err := json.Unmarshal(n.Meta, &info); err != nil || info.UUID == "" {
		return Info{}, false
	}
	return info, true
}

type events struct {
	to   Events
	self string
}

func (e *events) NotifyJoin(n *memberlist.Node) {
	if info, ok := decode(n); ok && n.Name != e.self {
		e.to.Joined(info)
	}
}

func (e *events) NotifyLeave(n *memberlist.Node) {
	if info, ok := decode(n); ok && n.Name != e.self {
		e.to.Gone(info)
	}
}

func (e *events) NotifyUpdate(n *memberlist.Node) { e.NotifyJoin(n) }

// delegate gives memberlist this node's metadata; nothing else rides on gossip.
type delegate struct{ meta []byte }

func (d delegate) NodeMeta(int) []byte               { return d.meta }
func (delegate) NotifyMsg([]byte)                    {}
func (delegate) GetBroadcasts(int, int) [][]byte     { return nil }
func (delegate) LocalState(bool) []byte              { return nil }
func (delegate) MergeRemoteState(buf []byte, _ bool) {}

// logWriter sends memberlist's log lines to slog at their level.
type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	line := strings.TrimSpace(string(p))
	switch {
	case strings.Contains(line, "Got ping for unexpected node"):
		// Somebody still asks for this address's former life.
		w.log.Debug("gossip: " + line)
	case strings.Contains(line, "[ERR]"), strings.Contains(line, "[WARN]"):
		w.log.Warn("gossip: " + line)
	default:
		w.log.Debug("gossip: " + line)
	}
	return len(p), nil
}
