// Package standalone runs one FE and one BE in a process, over in-process pipes:
// for a laptop and for tests. It is the same code as a cluster's; only the
// connections between the two do not leave the process.
package standalone
