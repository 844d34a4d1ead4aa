// Package prop is the table of table properties: one entry for each, with its
// parser, its check, its place in SHOW CREATE TABLE and whether ALTER TABLE may
// change it. The names, defaults and texts are Doris'; where we differ on
// purpose, Part A of docs/compatibility.md says so.
//
// Where to start: table.go. A new property is a field of meta.Properties and
// one entry there.
package prop
