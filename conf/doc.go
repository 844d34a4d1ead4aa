// Package conf holds the configuration of frontends (FE) and backends (BE).
//
// A role's configuration is one struct. Each field is one key, whose name,
// default, limits and description are the field's tags: they are the
// reference that docs/configuration.md prints (go test ./conf -update writes
// it). Names are Doris' where Doris has the key.
//
// Values come from the defaults, then from a file of `key = value` lines, then
// from the environment (DORISGO_QUERY_PORT for query_port), then from flags
// (--set query_port=9030); the later wins. Load collects everything that is
// wrong instead of stopping at the first.
//
// Values are read by Get from any goroutine, also while Set changes a mutable
// one: readers of hot paths ask each time and keep no copy.
package conf
