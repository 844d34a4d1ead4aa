// Package rpc is a BE's gRPC side: the server for FEs and other BEs
// (rpc/bepb), and the client that reaches other BEs by their id.
package rpc
