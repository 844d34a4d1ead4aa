package txn

// Tick adds the milliseconds that the leader of a term measured by its
// monotonic clock since its last tick. Nothing expires before the ticks of a
// term sum up to the grace period: a new leader has had no time to hear from
// owners (rule 15). Ticks of an older term count for nothing.
func (b *Book) Tick(deltaMs int64, term uint64, wallMs int64, lim *Limits) {
	if term < b.term || deltaMs < 0 {
		return
	}
	if term > b.term {
		b.term, b.termMs = term, 0
	}
	b.clock += deltaMs
	b.termMs += deltaMs
	if !b.Settled(lim) {
		return
	}
	for _, t := range b.Undecided() {
		if t.DeadlineFSM <= b.clock && !t.HasWAL() {
			b.abort(t, ReasonTimeout, wallMs)
		}
	}
	for _, d := range b.dbs {
		b.expireLabels(d, lim)
	}
}

// Settled reports whether the ticks of the present term have run for the
// grace period.
func (b *Book) Settled(lim *Limits) bool { return b.termMs >= lim.TickGraceMs }

// NextDeadline is the FSM time at which the next undecided transaction
// expires; ok is false if none may. It walks all undecided transactions.
func (b *Book) NextDeadline() (ms int64, ok bool) {
	for id := range b.undecided {
		if t := b.txns[id]; !t.HasWAL() && (!ok || t.DeadlineFSM < ms) {
			ms, ok = t.DeadlineFSM, true
		}
	}
	return ms, ok
}
