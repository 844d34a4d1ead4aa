package main

import (
	"os"
	"runtime"
)

// spareProcs lets Go run goroutines on two more threads than there are
// processors: one waits in an fsync nearly all the time (WAL, raft log), and Go
// takes its processor away only after a while. GOMAXPROCS overrules.
func spareProcs() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	}
}
