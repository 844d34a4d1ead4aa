// Package lint holds the rules of the house as Go tests: who may import whom,
// and which package is the one door to each third-party engine. The tables are
// the documentation; a broken rule names the reason and the way out.
package lint
