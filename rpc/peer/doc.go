// Package peer is how nodes talk: connections that prove membership with the
// cluster token, are dialled again with a back-off of at most a second, and may
// be in-process pipes when both roles live in one process (standalone, tests).
//
// A node has one Server on one port, and one Pool of what it dials. Two kinds of
// connections meet there, told apart by their first bytes:
//
//   - gRPC, for everything that is seldom, streams, or needs flow control;
//   - Messages, for what every small commit sends: loads (LoadClient,
//     Server.HandleLoads), and small rowsets and publish orders (Calls,
//     HandleCalls). Their senders write straight to the socket, their receivers
//     read straight from it.
//
// Loads of INSERT statements do not travel as calls but as items on one
// long-lived stream for each pair of FE and BE: its sender takes whatever waits
// into one frame, so that the cost of a message is shared by the statements that
// are on their way at that moment.
//
// # Invariants
//
//   - What was sent and not answered when a connection broke is Unknown; what did
//     not leave is NotAdmitted (loads) or NoBackend (calls). Nothing is sent twice
//     here (TestABrokenStreamIsUnknownForWhatWasSent, TestABrokenCallIsUnknown).
//   - A peer that is silent for 15 s, because it is gone or hangs, is given up
//     (TestSilence).
//   - A server that stops answers what it has read (TestStoppingAnswersWhatIsUnderWay,
//     TestAStoppingServerAnswersWhatItHas).
//
// Start with Server and Pool.
package peer
