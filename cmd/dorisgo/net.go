package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// stopTimeout bounds an orderly stop.
const stopTimeout = 30 * time.Second

func listen(ctx context.Context, what, host string, port int) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("cannot open the %s port %d on %s (choose another one, or 0 for any free one): %w", what, port, host, err)
	}
	return l, nil
}

func tcpPort(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// advertiseHost is the name by which others reach this node: the configured
// one, else the first address in priority_networks, else the first address that
// is not loopback, else 127.0.0.1.
func advertiseHost(name, networks string) (string, error) {
	if name != "" {
		return name, nil
	}
	var wanted []*net.IPNet
	for _, n := range strings.Split(networks, ";") {
		if n = strings.TrimSpace(n); n == "" {
			continue
		}
		_, ipnet, err := net.ParseCIDR(n)
		if err != nil {
			return "", fmt.Errorf("priority_networks: %w", err)
		}
		wanted = append(wanted, ipnet)
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("cannot list this machine's addresses: %w", err)
	}
	first := ""
	for _, a := range addrs {
		ipnet, ok := a.(*net.IPNet)
		if !ok || ipnet.IP.IsLinkLocalUnicast() {
			continue
		}
		for _, w := range wanted {
			if w.Contains(ipnet.IP) {
				return ipnet.IP.String(), nil
			}
		}
		if first == "" && !ipnet.IP.IsLoopback() && ipnet.IP.To4() != nil {
			first = ipnet.IP.String()
		}
	}
	if len(wanted) > 0 {
		return "", fmt.Errorf("priority_networks %s: this machine has no address in them", networks)
	}
	if first == "" {
		first = "127.0.0.1"
	}
	return first, nil
}

// gossipIP is what gossip advertises: it wants an IP; a name is left to it to
// find out.
func gossipIP(host string) string {
	if net.ParseIP(host) != nil {
		return host
	}
	ips, err := net.LookupIP(host) //nolint:noctx // at start, bounded by the resolver
	if err != nil || len(ips) == 0 {
		return ""
	}
	return ips[0].String()
}
