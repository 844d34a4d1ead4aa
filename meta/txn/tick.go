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

// NextDeadline is the FSM time at which the next undecided transaction or label
// expires; ok is false if none may. It walks all undecided transactions and
// all databases.
func (b *Book) NextDeadline(lim *Limits) (ms int64, ok bool) {
	take := func(at int64) {
		if !ok || at < ms {
			ms, ok = at, true
		}
	}
	for id := range b.undecided {
		if t := b.txns[id]; !t.HasWAL() {
			take(t.DeadlineFSM)
		}
	}
	for _, d := range b.dbs {
		if len(d.finished) == 0 {
			continue
		}
		take(d.finished[0].since + lim.LabelKeepMs)
		if len(d.finished) > lim.LabelMax {
			take(d.finished[0].since + lim.LabelGraceMs)
		}
	}
	return ms, ok
}
