package exec

import (
	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/duck"
	"dorisgo/rpc/bepb"
	"dorisgo/storage"
	"dorisgo/value"
)

// Type is a column's type from its wire form.
func Type(c *bepb.ColumnDesc) value.Type {
	return value.Type{Kind: value.Kind(c.Kind), Precision: uint8(c.Precision), Scale: uint8(c.Scale), Length: c.Length}
}

func types(cols []*bepb.ColumnDesc) []value.Type {
	out := make([]value.Type, len(cols))
	for i, c := range cols {
		out[i] = Type(c)
	}
	return out
}

func relation(cols []*bepb.ColumnDesc) []duck.ColumnDesc {
	out := make([]duck.ColumnDesc, len(cols))
	for i, c := range cols {
		out[i] = duck.ColumnDesc{UniqueID: c.UniqueId, Name: c.Name, Type: Type(c), Nullable: c.Nullable, Default: c.DefaultValue}
	}
	return out
}

// Project takes the wanted columns out of rows that were written with other
// ones: the unique id decides, a column that did not exist yet has its default.
func Project(rows *block.Block, have []storage.ColumnDesc, want []*bepb.ColumnDesc) (*block.Block, error) {
	out := block.New(types(want))
	for i, w := range want {
		at := -1
		for j := range have {
			if have[j].UniqueID == w.UniqueId {
				at = j
			}
		}
		dst := out.Col(i)
		switch {
		case at >= 0 && have[at].Type == dst.Type():
			dst.AppendColumn(rows.Col(at))
		case at >= 0:
			if err := convert(dst, rows.Col(at)); err != nil {
				return nil, err
			}
		default:
			if err := fill(dst, w, rows.Rows()); err != nil {
				return nil, err
			}
		}
	}
	out.EndRows(rows.Rows())
	return out, nil
}

// convert rewrites values of an earlier type of the column, through its text,
// the way ALTER converts them.
func convert(dst, src *block.Column) error {
	var text []byte
	opts := block.ConvertOptions{Strict: true}
	for i := range src.Len() {
		if src.IsNull(i) {
			dst.AppendNull()
			continue
		}
		text = value.AppendText(text[:0], src.Type(), src.Raw(i))
		if err := dst.AppendText(text, &opts); err != nil {
			return doriserr.Wrap(doriserr.Corrupt, err, "a stored value of type %s does not fit type %s", src.Type(), dst.Type())
		}
	}
	return nil
}

func fill(dst *block.Column, c *bepb.ColumnDesc, n int) error {
	opts := block.ConvertOptions{Strict: true}
	for range n {
		if c.DefaultValue == nil {
			dst.AppendNull()
			continue
		}
		if err := dst.AppendText([]byte(*c.DefaultValue), &opts); err != nil {
			return doriserr.Wrap(doriserr.Corrupt, err, "the default of column %s is no %s", c.Name, dst.Type())
		}
	}
	return nil
}
