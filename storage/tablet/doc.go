// Package tablet is the pure part of a tablet: which rowsets it consists of at
// each version. It does no I/O, has no clock and no lock; the storage engine
// keeps its records in step with a Graph and guards it with the tablet's lock.
//
// Invariants (docs/protocol.md, rule 13):
//
//   - Live rowsets cover ranges of versions in order; two neighbours share at
//     most one version, when its transaction wrote several rowsets here. A
//     version without a rowset had no rows for this tablet; whether it was
//     published at all is the partition's business.
//   - A rowset that covers a…b serves reads at b or later. A read at a version
//     within a…b uses what the rowset replaced, as long as that is kept.
//   - What was replaced goes (Sweep) only when nobody holds it and enough time
//     has passed, and all inputs of one output go together.
//
// Start with Graph.Capture.
package tablet
