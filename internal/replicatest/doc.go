// Package replicatest tests replication as a whole, in one process and without
// network, goroutines of its own or sleeps: one metadata state, five storage
// engines on disks that can crash, and between them the very functions that
// frontends and backends use. A seed gives the steps; a model, which knows only
// the rows of each version, says what must be read.
//
// It has tests only. TestReplication runs for a few seconds;
// REPLICATEST_FOR=30m makes it run longer, REPLICATEST_SEED=n runs one seed, and
// `make model` is the long run. TestFaults puts faults in on purpose, each of
// which must be noticed.
//
// Start with run_test.go, model_test.go and check_test.go; the steps are in the
// other files.
package replicatest
