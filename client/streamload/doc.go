// Package streamload is a client of the Stream Load protocol: one load is one
// HTTP PUT to a frontend, which answers 307 with a backend's address.
//
// Redirects are followed by hand, because the login has to go along and because
// a body is only sent to the node that takes it: every request carries
// `Expect: 100-continue`, so a frontend's 307 costs no byte of the body, and a
// label that is already used is refused before the body is sent.
//
// Start reading at client.go; reply.go reads answers and says what they mean.
package streamload
