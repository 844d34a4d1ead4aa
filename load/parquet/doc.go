// Package parquet decodes Parquet bodies for package load. It knows no engine:
// who reads the file gives it blocks of texts (Rows), which go through the same
// conversion as the fields of a CSV row.
package parquet
