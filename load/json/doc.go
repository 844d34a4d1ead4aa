// Package json reads JSON bodies into rows with a tokenizer of its own: values
// go from the body's bytes to the columns, numbers digit by digit, strings
// without any replacement of bytes.
//
// Rules (Part A of docs/compatibility.md and the tests of this package):
//   - By line, every line holds one or more values; blank lines are no rows. A
//     line that is no JSON filters its rest, and reading goes on at the next.
//   - Otherwise the body is a series of values over any number of lines. With
//     strip_outer_array the elements of arrays are the rows, read one by one.
//     Damage that leaves no next value to go on with fails the load.
//   - Keys match names without case; the last of repeated keys wins; a dot in a
//     key is a character like others.
//   - A missing key gives the column's default, else NULL; null gives NULL. A path
//     that ends at null, a scalar or nowhere is missing, at every depth.
//   - Objects and arrays go to string columns as written. A string in a JSON column
//     is JSON text.
//   - A row whose value is no object is filtered.
//
// An object that is whole and valid is read in one pass (quick.go); what that
// refuses is read again by decoder.go and row.go, which tell why (FuzzDecode
// holds the two against each other).
//
// Start reading at decoder.go. value.go is the tokenizer.
package json
