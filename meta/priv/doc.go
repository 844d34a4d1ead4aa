// Package priv holds passwords and privileges: the hashes that an account
// keeps, the checks of the two sign-in methods of MySQL clients, and what an
// account may do.
//
// Where to start: password.go for the checks, grants.go for the privileges.
// Nothing here keeps a password: only double hashes that no sign-in reveals.
package priv
