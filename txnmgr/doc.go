// Package txnmgr is what the leading FE does for transactions: it takes commits
// through the log, orders the BEs to publish them in version order, tells the
// log who did, and lets the FSM's clock tick. It decides nothing itself: every
// step is a command, and the FSM's answer is the only one that counts
// (docs/protocol.md, rules 2, 5, 12).
//
// Lead runs these duties for one term: it begins after a Barrier in that term
// and ends with it. What an earlier leader left undone is found in the state,
// so a new term starts by looking at every partition once.
//
// Start with Manager.Commit and publisher.run.
package txnmgr
