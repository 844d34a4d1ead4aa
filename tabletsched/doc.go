// Package tabletsched keeps every tablet whole and well placed, on the leading
// FE: it has replicas cloned that lack versions, adds replicas where too few
// are left, drops those that are too many, empties backends that are
// decommissioned, and moves replicas to backends that have few.
//
// It decides nothing about data. A replica is added and dropped by a command
// that the log may refuse, and what a clone came to is believed only as far as
// the BE reports it (docs/protocol.md, rules 1, 2 and 10). A step that is lost
// is found again in the state: there is nothing to recover after a change of the
// leader.
//
// Start with plan.go, the pure choice of steps, and Scheduler.Lead.
package tabletsched
