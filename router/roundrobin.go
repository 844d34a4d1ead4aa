package router

import (
	"sync/atomic"

	"dorisgo/doriserr"
)

// RoundRobin hands out BEs in turn. It is safe for concurrent use.
type RoundRobin struct{ next atomic.Uint64 }

// Choose is the next usable BE.
func (r *RoundRobin) Choose(backends []Backend) (int64, error) {
	usable := make([]int64, 0, len(backends))
	for _, b := range backends {
		if b.usable() {
			usable = append(usable, b.ID)
		}
	}
	if len(usable) == 0 {
		return 0, doriserr.New(doriserr.NoBackend, "No backend available for load, please check the status of your backends., policy: round_robin")
	}
	return usable[(r.next.Add(1)-1)%uint64(len(usable))], nil
}
