// Package gossip finds the nodes of a cluster by memberlist. What it says is a
// hint: an address to try, a node that may be down. It never aborts, registers,
// drops or moves anything (docs/protocol.md, rule 15); those follow heartbeats
// and the raft log.
//
// A node's memberlist name is its UUID and a nonce of this boot, so that a
// node that comes back under another address is a new name and never fights
// its own past. The packets are encrypted by a key that is derived from the
// cluster token. A node that knows seeds joins them again for as long as one
// of them is missing, so that two halves find each other after a long cut.
package gossip
