// Package errlog keeps the source rows that loads filtered, one file for a
// load, for the client to fetch by the reply's ErrorURL.
//
// A file is made at a load's first filtered row, holds at most MaxRows rows and
// is removed after the retention time. Names are
// __shard_<n>/error_log_<db>_<label>_<hi>_<lo>, where hi and lo are the halves of the
// request id in hex: nobody can guess the name of another client's file.
//
// Files are a convenience and not part of any promise: they are not fsynced,
// and a full disk costs the rows' texts, not the load.
package errlog
