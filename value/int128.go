package value

// Int128 is a two's complement 128-bit integer: the value of a LARGEINT, or
// the unscaled value of a DECIMAL.
type Int128 struct {
	Hi int64
	Lo uint64
}
