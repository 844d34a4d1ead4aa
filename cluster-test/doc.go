// Package clustertest holds one cluster of containers against faults: clients
// insert by MySQL and by Stream Load while containers are killed, stopped,
// paused and cut off from the network. At the end every acknowledged row must be
// there once, and every other statement whole and once, or not at all.
//
// It is a module of its own, so that the Docker client is no dependency of the
// database. Start at chaos_test.go: plan_test.go has the faults, cluster_test.go
// the nodes, docker_test.go what it takes to make and remove them,
// clients_test.go and stream_test.go the load, ledger_test.go the bookkeeping.
// docs/chaos.md says how to run it.
package clustertest
