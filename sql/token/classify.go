package token

// Class says which part of the product reads a statement.
type Class uint8

// The classes.
const (
	// Empty has no token besides semicolons: nothing to do, answered OK.
	Empty Class = iota
	// Query returns rows from tables: SELECT, WITH, VALUES, a parenthesis.
	Query
	// Insert is INSERT in all its forms.
	Insert
	// Update and Delete change rows.
	Update
	Delete
	// Command is everything else, read by sql/ddl.
	Command
)

var classNames = [...]string{"empty", "query", "insert", "update", "delete", "command"}

// String is the class' name in logs and metrics.
func (c Class) String() string { return classNames[c] }

var classWords = []struct {
	word  string
	class Class
}{
	{"INSERT", Insert},
	{"SELECT", Query},
	{"WITH", Query},
	{"VALUES", Query},
	{"UPDATE", Update},
	{"DELETE", Delete},
}

// Classify looks at the first token after blanks, comments and semicolons.
func Classify(sql []byte) Class {
	l := Lexer{Src: sql}
	t := l.Next()
	for t.Is(sql, ';') {
		t = l.Next()
	}
	switch {
	case t.Kind == EOF:
		return Empty
	case t.Is(sql, '('):
		return Query
	case t.Kind != Word:
		return Command
	}
	for _, w := range classWords {
		if EqualFold(sql[t.Pos:t.End], w.word) {
			return w.class
		}
	}
	return Command
}
