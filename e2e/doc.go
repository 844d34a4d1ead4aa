// Package e2e tests the real binary as its users meet it: processes that are
// started, stopped and killed, spoken to over the MySQL protocol and HTTP.
//
// main_test.go builds the binary once for each run of the tests. process_test.go
// starts and ends processes, standalone_test.go and cluster_test.go know their
// flags, configuration and directories, sql_test.go and http_test.go are the
// clients. Everything a test starts is a child that it ends by its own handle;
// a failed test prints the end of its nodes' logs.
//
// Waits poll with a deadline; there are no fixed sleeps except where a random
// moment is the point of the test, and its seed is printed. The crash tests run
// E2E_CRASH_ROUNDS rounds (4 unless set; `make crash` sets 100), from the seed
// E2E_SEED if that is set. E2E_LOGS names a directory for the logs of failed
// tests.
package e2e
