// Package doriserr is the one list of errors that a client, an operator or a
// caller decides by. A Kind carries the MySQL error code and SQLSTATE, the
// bracketed code of a Stream Load Message and whether a retry is safe; the
// text is Doris'. Start with kind.go: the table is the documentation.
//
// Errors cross nodes as gRPC statuses (ToStatus, FromStatus). An error of the
// transport comes back as Unknown: the peer may have done the work.
package doriserr
