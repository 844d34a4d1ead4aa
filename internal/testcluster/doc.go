// Package testcluster runs frontends and backends of one cluster inside the
// process of a test: gRPC over in-process pipes, the metadata in memory, data
// and WALs in a temporary directory, MySQL on a loopback port. It is quicker
// than processes (e2e) and shows the inside of the nodes; what a process alone
// can show, a power failure or a signal, is tested there.
//
// A backend can be stopped in order, or be killed in the middle of what it does,
// and started again on its directories; a frontend keeps nothing when it stops.
package testcluster
