// Package rpc answers BEs and other FEs over gRPC (rpc/fepb). Calls that change
// state become commands on the leader; an FE that does not lead answers with
// the leader's address, which the caller follows.
package rpc
