package block

// EndRows counts n rows after n values were appended to every column.
func (b *Block) EndRows(n int) { b.rows += n }
