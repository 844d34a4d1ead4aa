// Package fehttp is a frontend's HTTP server: it sends Stream Loads to the
// right backend by a 307 redirect and answers Doris' small administrative
// requests.
//
// Routes are one table (routes.go) with the privilege that each demands; a test
// walks it. The redirect's checks (load.go) keep Doris' order and texts, with
// the decisions of Part A of docs/compatibility.md: no password in Location, a
// missing Expect header is accepted, and a body that is already under way is
// drained within bounds, so that the client sees the 307.
//
// The package holds no state but counters; everything it says comes from a
// Frontend.
package fehttp
