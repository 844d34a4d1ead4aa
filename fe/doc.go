// Package fe is a frontend: a member of the raft group that keeps the metadata,
// the MySQL protocol, HTTP, and on the leader the duties of transactions and
// backends. Node (node.go) wires the parts of one process life together; what
// they do is in the packages below this one.
package fe
