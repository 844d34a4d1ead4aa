// Package client is how the command line, the benchmarks and tests talk to a
// running dorisgo: as its users do, over the MySQL protocol and HTTP.
package client
