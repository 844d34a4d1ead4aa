// Package duck runs SQL, sorts rows and writes Parquet files with DuckDB. It is
// the only importer of DuckDB in the project: the rest sees blocks
// (dorisgo/block) going in and coming out.
//
// Start at DB.Query (a SELECT over private relations) and DB.WriteParquet.
//
// What the package guarantees, each with a test:
//
//   - A relation belongs to one query. Hot rows are copied into a TEMP table of
//     the query's own connection, so they may be scanned as often as the query
//     likes (self-joins), are seen by no other query, and are never read after
//     their memory was given back (TestHotRowsSelfJoin, TestConcurrentQueries).
//     An Arrow view has none of these three properties, which is why the
//     package fills DuckDB's vectors directly from block vectors instead.
//   - Every value of every type comes back bit for bit, through TEMP tables,
//     Parquet files and results. Parquet has no 128-bit integers in DuckDB, so
//     a LARGEINT is stored there as decimal text and cast in the scan
//     (TestLimitsOfTypes).
//   - SQL reaches no file outside Options.Dirs, no network and no extension, and
//     cannot change a setting (TestNoExternalAccess).
//   - A Parquet file appears under its final name only complete and fsynced
//     (TestWriteParquetIsDurable). Columns carry field_id = unique column id, so
//     renamed, widened and later added columns are read from old files
//     (TestSchemaChangeTouchesNoFile).
//   - A call into C++ never outlives the Go call that made it: it is interrupted
//     when the context ends, and waited for (TestCancel). Options.MaxConcurrent
//     bounds how many threads may be in such calls.
//   - A fatal error costs the query that met it; the instance is replaced
//     (TestFatalErrorReplacesInstance).
//
// DuckDB's SQL differs from MySQL's in meaning: only SQL made by
// sql/translate or by this program itself may be given to Query.
package duck
