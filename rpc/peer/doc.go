// Package peer is how nodes talk: gRPC connections that prove membership with
// the cluster token, re-dial with a back-off of at most a second, and may be
// in-process pipes when both roles live in one process (standalone, tests).
//
// Loads of INSERT statements do not travel as calls but as items on one
// long-lived stream for each pair of FE and BE (LoadClient, ServeLoads): its
// sender takes whatever waits into one frame, so that the cost of a message is
// shared by the statements that are on their way at that moment.
//
// Start with Server and Pool.
package peer
