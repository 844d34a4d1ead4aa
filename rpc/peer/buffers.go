package peer

import (
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
)

// Messages and what is received of them lie in buffers of a pool. The tiers of
// the library's own pool go from 32 KB to 1 MB at once: a message of 40 KB took,
// and cleared, a megabyte of fresh memory, which cost one sampled commit 13 ms of
// page faults. Here a buffer is at most twice as large as what it
// holds, up to writeChunk of be/rpc and the largest frame of loads.
func init() {
	pool, err := mem.NewBinaryTieredBufferPool(8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)
	if err != nil {
		panic(err) // the exponents are constants
	}
	experimental.SetDefaultBufferPool(pool)
}
