// Package sqltest runs statements from text to rows: sql/translate makes
// DuckDB's SQL, duck runs it over hot rows and over Parquet files, and the
// golden files in testdata say what comes out. It holds tests only.
package sqltest
