package load

// Decoder reads a body of one format. It is used by one goroutine.
type Decoder interface {
	// Decode appends rows to the block that Rows was started with until the
	// block has about maxBytes bytes, and then returns nil, or io.EOF once the
	// body has ended. Other errors end the load: the body cannot be read, is
	// damaged in a way that leaves no next row to go on with, or has a row that
	// may not be filtered (ErrStopped).
	Decode(r *Rows, maxBytes int) error
}

// checkRows and checkBytes are how many rows and source bytes may pass before
// a decoder looks at the block's size again.
const (
	checkRows  = 1024
	checkBytes = 16 << 10
)

// Full tells a decoder when its block has enough.
type Full struct {
	max         int
	rows, bytes int
}

// NewFull starts counting towards a block of max bytes.
func NewFull(maxBytes int) Full { return Full{max: maxBytes} }

// Add counts source rows of n bytes together and reports whether the block is
// full.
func (f *Full) Add(r *Rows, rows, n int) bool {
	f.rows += rows
	if f.bytes += n; f.rows < checkRows && f.bytes < checkBytes {
		return false
	}
	f.rows, f.bytes = 0, 0
	return r.b.Bytes() >= f.max
}
