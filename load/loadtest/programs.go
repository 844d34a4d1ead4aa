package loadtest

import (
	"context"
	"slices"
	"strings"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/load"
	"dorisgo/value"
)

// Expr is an expression of a Fake: the names that it uses, and what it makes of
// their texts (nil for NULL, as the result).
type Expr struct {
	Uses []string
	Eval func(in []*string) *string
}

// Fake is an engine that knows some expressions by their texts. Results are
// texts; those of conditions are "1" and "0".
type Fake struct {
	Exprs map[string]Expr
	// Batches are the rows of each evaluation, Err fails the next ones.
	Batches []int
	Err     error
}

// Compile is a load.Compile.
func (f *Fake) Compile(s *load.ProgramSpec) (*load.Program, error) {
	p := &load.Program{}
	var uses [][]int
	for _, o := range s.Outputs {
		e, ok := f.Exprs[o.Text]
		if !ok {
			return nil, o.Wrap(doriserr.New(doriserr.Unsupported, "no such expression"))
		}
		var at []int
		for _, name := range e.Uses {
			i, list := slices.IndexFunc(s.Sources, func(s string) bool { return strings.EqualFold(s, name) }), &p.Sources
			if o.OverColumns {
				i, list = slices.IndexFunc(s.Columns, func(c load.ProgramColumn) bool { return strings.EqualFold(c.Name, name) }), &p.Columns
			}
			if i < 0 {
				return nil, o.Wrap(o.Unknown(name))
			}
			if !slices.Contains(*list, i) {
				*list = append(*list, i)
			}
			n := slices.Index(*list, i)
			if o.OverColumns {
				n = -1 - n
			}
			at = append(at, n)
		}
		uses = append(uses, at)
		t := value.Type{Kind: value.String}
		if o.Condition {
			t.Kind = value.Boolean
		}
		p.Types = append(p.Types, t)
	}
	p.Eval = func(_ context.Context, in *block.Block) (*block.Block, error) {
		f.Batches = append(f.Batches, in.Rows())
		if f.Err != nil {
			return nil, f.Err
		}
		out := block.New(p.Types)
		for i := range in.Rows() {
			for k, o := range s.Outputs {
				args := make([]*string, len(uses[k]))
				for j, n := range uses[k] {
					if n < 0 {
						n = len(p.Sources) - 1 - n
					}
					if c := in.Col(n); !c.IsNull(i) {
						text := string(value.AppendText(nil, c.Type(), c.Raw(i)))
						args[j] = &text
					}
				}
				switch v := f.Exprs[o.Text].Eval(args); {
				case v == nil:
					out.Col(k).AppendNull()
				case o.Condition:
					out.Col(k).AppendBool(*v == "1")
				default:
					out.Col(k).AppendBytes([]byte(*v))
				}
			}
			out.EndRow()
		}
		return out, nil
	}
	return p, nil
}
