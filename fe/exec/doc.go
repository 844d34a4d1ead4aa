// Package exec executes the statements of MySQL sessions on an FE: a file for
// each kind. It implements the seam of fe/mysql (Server is its Handler).
//
// The hot path is insert.go: a literal INSERT goes from the packet's bytes into
// block vectors, from there in the block codec onto the load stream of the BE
// that the router names, and the answer becomes the OK packet. It asks no other
// FE and takes no lock of the catalog but for a pointer to the table.
package exec
