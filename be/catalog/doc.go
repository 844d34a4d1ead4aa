// Package catalog is a BE's read-only copy of what it needs of the catalog:
// databases, tables, backends, users and global variables. An FE streams it, a
// snapshot first, then changes by index (Follow). With the copy a BE
// authenticates and plans a load without asking anybody. That the copy may be
// old is harmless: begin carries table id and schema version, and the FSM
// refuses an old one.
//
// Objects in it are immutable; a reader keeps what it got.
package catalog
