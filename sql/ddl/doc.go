// Package ddl reads every statement that is no query and no change of rows:
// DDL, SET, SHOW, accounts, cluster commands. It is a recursive descent by hand
// over sql/token into plain structs; it knows no catalog and runs nothing.
//
// Start with Parse and the table of first words in parse.go. SHOW forms are the
// table in show_forms.go. Build turns a CREATE TABLE into a *meta.Table and
// holds the rules of valid tables; ShowCreate is the way back.
//
// What Doris has and dorisgo has not is parsed far enough to be refused by its
// name (doriserr.Unsupported), so that nobody hunts a syntax error.
//
// Invariants, each with the test that breaks without it:
//   - any text gives a statement or a *doriserr.Error or ErrNotOurs, and never
//     a panic (FuzzParse);
//   - a statement is read to its end, rubbish behind it is an error
//     (TestSyntaxErrors);
//   - what ShowCreate prints, Parse and Build read back as the same table
//     (TestShowCreate).
package ddl
