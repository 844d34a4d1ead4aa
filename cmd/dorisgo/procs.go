package main

import (
	"os"
	"runtime"
)

// spareProcs lets Go run goroutines on two more threads than there are
// processors: one waits in an fsync nearly all the time (WAL, raft log), and Go
// takes its processor away only after a while. GOMAXPROCS overrules.
func spareProcs() {
	if !procsGiven() {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spare)
	}
}

const spare = 2

func procsGiven() bool { return os.Getenv("GOMAXPROCS") != "" }

// pollers is mysql_pollers, where 0 stands for one for every two processors: a
// poller that has many connections gathers more of what comes at the same time.
func pollers(set int) int {
	if set != 0 {
		return set
	}
	procs := runtime.GOMAXPROCS(0)
	if !procsGiven() {
		procs -= spare
	}
	return max(procs/2, 1)
}
