package streamload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Times in which a node that works answers at least something.
const (
	dialTime = 10 * time.Second
	// continueTime is how long a body waits for 100 Continue before it is sent
	// all the same: something in between may not know Expect.
	continueTime = 10 * time.Second
)

// hops bounds the redirects of one load.
const hops = 5

// maxReply bounds an answer in bytes; it is a JSON object of a few hundred.
const maxReply = 1 << 20

// Options are what a Client is made of.
type Options struct {
	// Endpoints are frontends (or backends): host:port or http://host:port. The
	// next one is tried when one does not answer.
	Endpoints []string
	// User and Password are sent as Basic authentication, also to the backend
	// that a frontend names. Token, if set, is sent instead of them.
	User, Password, Token string
	// Table is where loads go.
	DB, Table string
	// Connections is how many loads run at a time; it bounds idle connections.
	Connections int
	// Transport is http.RoundTripper for tests; nil makes one that honours
	// HTTP_PROXY and NO_PROXY.
	Transport http.RoundTripper
}

// Client sends loads to one table. It is safe for concurrent use.
type Client struct {
	o     Options
	bases []*url.URL
	// next is the index of the endpoint that answered last.
	next atomic.Int64
	http *http.Client
}

// New checks the options.
func New(o Options) (*Client, error) {
	switch {
	case len(o.Endpoints) == 0:
		return nil, errors.New("no URL of a frontend was given")
	case o.DB == "" || o.Table == "":
		return nil, errors.New("database and table are needed")
	}
	c := &Client{o: o}
	for _, e := range o.Endpoints {
		u, err := endpoint(e)
		if err != nil {
			return nil, err
		}
		c.bases = append(c.bases, u)
	}
	t := o.Transport
	if t == nil {
		n := max(2, o.Connections)
		t = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: dialTime, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout:   dialTime,
			ExpectContinueTimeout: continueTime,
			MaxIdleConnsPerHost:   n,
			IdleConnTimeout:       30 * time.Second,
			DisableCompression:    true,
		}
	}
	c.http = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// endpoint reads host:port or a URL.
func endpoint(text string) (*url.URL, error) {
	s := strings.TrimSpace(text)
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("the URL %q is not of the form http://host:port", text)
	}
	if u.User != nil {
		return nil, errors.New("a URL carries a login: give user and password by their own flags")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Body is a load's bytes. Open is called once for each request that sends them.
type Body struct {
	Open func() (io.ReadCloser, error)
	// Length is their number, -1 if it is not known: then they go in chunks.
	Length int64
}

// Load sends one load under a label. Headers are Stream Load's. A *Reply is an
// answer of whatever status; an error is a load whose outcome is not known, or
// one that nobody took: a retry under the same label is right in both cases.
func (c *Client) Load(ctx context.Context, label string, headers map[string]string, body Body) (*Reply, error) {
	start := c.next.Load()
	var errs []error
	for i := range c.bases {
		at := (start + int64(i)) % int64(len(c.bases))
		r, err := c.follow(ctx, c.bases[at], label, headers, body)
		if !Unreachable(err) || ctx.Err() != nil {
			c.next.Store(at)
			return r, err
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// Unreachable says that nobody took the request: no connection was made.
func Unreachable(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// follow sends the load to a node and to those that it redirects to.
func (c *Client) follow(ctx context.Context, base *url.URL, label string, headers map[string]string, body Body) (*Reply, error) {
	at := base.String() + "/api/" + url.PathEscape(c.o.DB) + "/" + url.PathEscape(c.o.Table) + "/_stream_load"
	for range hops {
		res, err := c.put(ctx, at, label, headers, body)
		if err != nil {
			return nil, err
		}
		if res.StatusCode != http.StatusTemporaryRedirect && res.StatusCode != http.StatusPermanentRedirect {
			return read(res)
		}
		to, err := res.Location()
		discard(res)
		if err != nil || to.Scheme != "http" && to.Scheme != "https" {
			return nil, fmt.Errorf("%s redirects to no address: %q", res.Request.URL.Host, res.Header.Get("Location"))
		}
		// Doris' frontends write the login into the address; ours is the one to send.
		to.User = nil
		at = to.String()
	}
	return nil, fmt.Errorf("%s redirects more than %d times", base.Host, hops)
}

func (c *Client) put(ctx context.Context, at, label string, headers map[string]string, body Body) (*http.Response, error) {
	b := &lazyBody{open: body.Open}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, at, b)
	if err != nil {
		return nil, err
	}
	req.ContentLength = body.Length
	if body.Length == 0 {
		req.Body = http.NoBody
	}
	req.Header.Set("Expect", "100-continue")
	req.Header.Set("Content-Type", "text/plain")
	c.sign(req)
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	if label != "" {
		req.Header.Set("label", label)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if err := b.failed(); err != nil { // and not its echo from the connection
			return nil, &SourceError{err}
		}
		return nil, fmt.Errorf("no answer from %s: %w", req.URL.Host, plain(err))
	}
	return res, nil
}

// plain is an error of package http without its URL.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func (c *Client) sign(req *http.Request) {
	if c.o.Token != "" {
		req.Header.Set("token", c.o.Token)
		return
	}
	req.SetBasicAuth(c.o.User, c.o.Password)
}

// State asks for the state of a label's transaction, in Doris' words: VISIBLE,
// COMMITTED, PREPARE, PRECOMMITTED, ABORTED, UNKNOWN. Only frontends know.
func (c *Client) State(ctx context.Context, label string) (string, error) {
	var errs []error
	start := c.next.Load()
	for i := range c.bases {
		base := c.bases[(start+int64(i))%int64(len(c.bases))]
		state, err := c.stateAt(ctx, base, label)
		if err == nil {
			return state, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

func (c *Client) stateAt(ctx context.Context, base *url.URL, label string) (string, error) {
	at := base.String() + "/api/" + url.PathEscape(c.o.DB) + "/get_load_state?label=" + url.QueryEscape(label)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return "", err
	}
	c.sign(req)
	res, err := c.http.Do(req)
	if err != nil {
		return "", fmt.Errorf("no answer from %s: %w", base.Host, plain(err))
	}
	defer res.Body.Close()
	var r struct {
		Code int
		Msg  string
		Data any
	}
	err = json.NewDecoder(io.LimitReader(res.Body, maxReply)).Decode(&r)
	state, ok := r.Data.(string)
	if err != nil || !ok || r.Code != 0 {
		return "", fmt.Errorf("%s does not tell the state of label %s: HTTP %d %s %v", base.Host, label, res.StatusCode, r.Msg, r.Data)
	}
	return state, nil
}

// SourceError is an error of a load's own bytes: they could not be read. A retry
// meets it again.
type SourceError struct{ Err error }

// Error implements error.
func (e *SourceError) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *SourceError) Unwrap() error { return e.Err }

// lazyBody opens its source when the transport first reads it, which is after
// 100 Continue. The transport may still use it when a request has failed.
type lazyBody struct {
	open func() (io.ReadCloser, error)

	mu  sync.Mutex
	r   io.ReadCloser
	err error
}

func (b *lazyBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, b.err
	}
	if b.r == nil {
		if b.r, b.err = b.open(); b.err != nil {
			return 0, b.err
		}
	}
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// Close implements io.Closer.
func (b *lazyBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = errClosed
	}
	if b.r == nil {
		return nil
	}
	return b.r.Close()
}

var errClosed = errors.New("the body is closed")

// failed is the source's own error, nil if it had none.
func (b *lazyBody) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if errors.Is(b.err, errClosed) {
		return nil
	}
	return b.err
}
