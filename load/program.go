package load

import (
	"context"
	"time"

	"dorisgo/block"
	"dorisgo/value"
)

// Compile checks and translates expressions; its errors are for the client.
// Package query/exec implements it over the query engine. It is safe for
// concurrent use and carries the load's context.
type Compile func(s *ProgramSpec) (*Program, error)

// ProgramSpec is a set of expressions over the rows of a load. The same spec
// gives the same results for the same rows, so programs may be shared.
type ProgramSpec struct {
	// Sources are the names of the source fields: texts. Columns are the table's
	// columns after conversion.
	Sources []string
	Columns []ProgramColumn
	Outputs []ProgramOutput
	// Now is the time of the request in the load's zone.
	Now time.Time
}

// ProgramColumn is a column that expressions may use.
type ProgramColumn struct {
	Name string
	Type value.Type
}

// ProgramOutput is one expression.
type ProgramOutput struct {
	Text string
	// OverColumns lets the expression use the spec's Columns, otherwise its
	// Sources.
	OverColumns bool
	// Condition asks for a truth value. Otherwise Want is the type of the column
	// that takes the result.
	Condition bool
	Want      value.Type
	// Wrap adds what the expression is for to an error, Unknown words the one
	// about a name that is no source or column.
	Wrap    func(err error) error
	Unknown func(name string) error
}

// Program computes expressions.
type Program struct {
	// Sources and Columns are the indexes of those that the program takes: its
	// input has a STRING column for each of Sources, then one for each of
	// Columns.
	Sources, Columns []int
	// Types are those of the results: the wanted type, or STRING for a text that
	// is still to be converted.
	Types []value.Type
	// Eval computes the results, in the order of the outputs, for each row. A row
	// for which an expression fails has NULL. It may be called concurrently.
	Eval func(ctx context.Context, in *block.Block) (*block.Block, error)
}

// MaxBatch is how many rows of a load are evaluated at a time.
const MaxBatch = 4096
