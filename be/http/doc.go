// Package behttp is a backend's HTTP server: Stream Load, its error logs,
// health, metrics and configuration.
//
// A load goes through four steps, each a file: its head (headers.go) checks
// every header before a byte of the body is read and answers with the header's
// name and value; mode.go decides between group commit and a normal load;
// collect.go turns the body into blocks under the node's memory budget; reply.go
// writes Doris' JSON. What blocks become is the Loader's matter.
//
// Invariants:
//   - No transaction is begun and no group joined before every header was
//     checked and the client authenticated.
//   - A load joins a group whole or not at all (docs/protocol.md, rule 9).
//   - Total = loaded + filtered + unselected in every reply of a load that
//     succeeded; a failed load reports no loaded row.
//   - No password is ever logged or sent back.
//
// Start reading at server.go, then streamload.go.
package behttp
