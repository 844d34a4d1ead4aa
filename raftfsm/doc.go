// Package raftfsm is the shell round package meta: it replicates commands
// through raft, applies them to the State and keeps log and snapshots on disk.
//
// Where to start: node.go (Config, Open), propose.go (the three answers of
// docs/protocol.md, rule 5), fsm.go (what raft calls), leader.go (terms and
// duties), watch.go (the watchdog of the store, scenario H43), identity.go
// (what a data directory remembers of itself, rule 6).
//
// What holds:
//
//   - Propose answers with the FSM's decision, or with NotLeader if the command
//     is surely not in the log, or with Unknown. Only the first two end the
//     matter.
//   - Apply touches the State alone and wakes watchers through channels that
//     never block it (scenario H44).
//   - A leader's duties start after a Barrier in its term and end with it
//     (scenario H15).
//   - Every wait has a bound: the caller's context or one of Config.
//   - An error or an over-bound call of the store, and a log entry of a newer
//     build, end the process through Config.Fatal (scenarios H43, H45).
package raftfsm
