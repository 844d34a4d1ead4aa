// Package placement says on which backends a tablet's replicas go. It is pure:
// the same state gives the same answer, and nothing is reserved. CREATE TABLE
// asks for all tablets of a partition, whoever repairs tablets for one replica
// more.
package placement
