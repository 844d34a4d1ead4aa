package insert

// Bind takes parameters that were taken apart and checked already: types holds
// n of them, nulls is the NULL bitmap, values the bytes back to back. They are
// aliased until the next Bind or Parse.
func (p *Params) Bind(types []ParamType, nulls, values []byte, long [][]byte) {
	p.types, p.known = types, true
	p.count, p.nulls, p.values, p.long = len(types), nulls, values, long
	p.rewind()
}
