// Package csv reads delimited text into rows.
//
// Rules (Part A of docs/compatibility.md and the tests of this package):
//   - A UTF-8 byte order mark at the very start of the body is dropped.
//   - With the line delimiter LF a CR just before it belongs to the line end; a
//     CR elsewhere is data. Other delimiters are taken to the letter.
//   - Bytes after the last delimiter are a row. Blank lines are no rows.
//   - Separators of several bytes match from left to right without overlap.
//   - The field \N is NULL; an empty field is the empty string, or NULL with
//     empty_field_as_null. A field in quotes is never NULL.
//   - With enclose, a field that starts with that byte ends at the next one
//     that a separator or line end follows; between them everything is data and
//     a doubled enclose byte means one. The escape byte makes an enclose or
//     escape byte after it data.
//   - A row with more or fewer fields than the load's columns is filtered.
//
// There are two ways through a body that give the same rows, errors and counts
// (FuzzDecode): scan.go cuts whole rows of plain fields eight bytes at a time;
// decoder.go and enclose.go read one row of any form, wherever its bytes end.
//
// Start reading at decoder.go. Header texts are read in separator.go.
package csv
