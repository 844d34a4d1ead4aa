// Package value holds the column types and everything that depends on a type
// alone: reading texts, limits, printing, order and the bucket hash. INSERT
// literals, the binary protocol, CSV and JSON all convert by these functions,
// so that one text means the same value by every door.
//
// # Physical form
//
// A value that is not NULL is a run of bytes, as vectors of package block keep
// it. Fixed-width values are little-endian:
//
//	BOOLEAN               1 byte, 0 or 1
//	TINYINT to BIGINT     1, 2, 4, 8 bytes, two's complement
//	LARGEINT              16 bytes, two's complement
//	FLOAT, DOUBLE         4, 8 bytes, IEEE 754
//	DECIMAL(p,s)          16 bytes, two's complement: value * 10^s
//	DATE                  4 bytes: days since 1970-01-01
//	DATETIME(s)           8 bytes: microseconds since 1970-01-01 00:00:00,
//	                      without zone, rounded to s digits of a second
//	CHAR to JSON          the bytes, valid UTF-8
//
// # Rules of conversion
//
//   - Numbers are converted by their decimal digits. Nothing wraps round and
//     nothing loses leading digits: a value that does not fit is an error.
//   - DECIMAL rounds half away from zero, DATETIME rounds half up; both may
//     then be out of range.
//   - Integers may be spelled 1.0 or 1e2 if the value is whole; 1.5 and 0x10
//     are malformed.
//   - FLOAT and DOUBLE take nan, inf and infinity, since both can hold them,
//     but a number that is too large is an error and never an infinity.
//   - Dates must exist: none is moved to the next month. What follows a legal
//     start must be legal too. 24:00:00 is not a time.
//   - Lengths of CHAR and VARCHAR are bytes. Invalid UTF-8 is refused.
//   - JSON is kept as written except for blanks between tokens; repeated keys
//     stay.
//   - Blanks around numbers, booleans and dates do not count; an empty text is
//     a value of the string types only.
//
// What a refusal leads to (an error, a NULL, a filtered row) is the caller's
// to decide; errors are *ConvError.
//
// Functions are pure, safe for concurrent use, and do not allocate unless they
// return an error. Start with type.go, then number.go (decimal digits) and
// stamp.go (grammar of dates).
package value
