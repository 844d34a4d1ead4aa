// Package session holds what a client connection has set: system variables
// with their scopes and checks, user variables, current database and user,
// time zone, and what the last INSERT was.
//
// Start with variable.go (what a variable is), then the tables in vars_*.go:
// each variable is one row there, and nothing else in the program knows its
// default or its limits. global.go has the values that new sessions start
// with; they live in the replicated catalog, so SET GLOBAL goes through a
// callback. SET of a session variable touches nothing but the Session: it
// costs no round trip and works without a leader.
//
// A Session belongs to its connection's goroutine. Globals is an immutable
// snapshot that any number of sessions share.
package session
