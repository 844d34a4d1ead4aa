package translate

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
	"dorisgo/value"
)

// parser knows no state. Its version decides only about versioned comments.
var parser = sync.OnceValues(func() (*sqlparser.Parser, error) {
	return sqlparser.New(sqlparser.Options{MySQLServerVersion: "8.0.30"})
})

// parse reads one statement, which must be a SELECT or UNION.
func (t *translator) parse(sql string) (stmt sqlparser.TableStatement, err error) {
	if !utf8.ValidString(sql) {
		return nil, doriserr.New(doriserr.Parse, "the statement is not valid UTF-8")
	}
	p, err := parser()
	if err != nil {
		return nil, doriserr.Wrap(doriserr.Internal, err, "cannot make the SQL parser")
	}
	toks := lex(sql)
	if deepest(toks) > maxDepth {
		return nil, doriserr.New(doriserr.Analysis, "the statement nests deeper than %d levels", maxDepth)
	}
	text, casts, err := rewrite(sql, toks)
	if err != nil {
		return nil, err
	}
	t.casts = casts
	parsed, err := p.Parse(text)
	if err != nil {
		return nil, doriserr.New(doriserr.Parse, "%s", err.Error())
	}
	s, ok := parsed.(sqlparser.TableStatement)
	if !ok {
		return nil, unsupported("a statement of this kind as a query")
	}
	return s, nil
}

// deepest is how deep parentheses nest.
func deepest(toks []tok) int {
	depth, most := 0, 0
	for _, k := range toks {
		switch k.text {
		case "(":
			depth++
			most = max(most, depth)
		case ")":
			depth--
		}
	}
	return most
}

// castMark is the character set that stands for a Doris type in a CAST, which
// the grammar takes only as one of MySQL's.
const castMark = "__type_"

// rewrite makes a statement fit MySQL's grammar: the type in CAST(x AS <type>),
// wherever it is one that the grammar does not have, becomes CHAR CHARACTER SET
// __type_<n>; words that are names in Doris get quotes.
func rewrite(sql string, toks []tok) (string, []value.Type, error) {
	var sb strings.Builder
	var casts []value.Type
	var open []bool // for each open parenthesis: does it belong to a CAST
	done := 0
	for i, k := range toks {
		switch {
		case k.text == "(":
			open = append(open, i > 0 && toks[i-1].is("CAST"))
		case k.text == ")" && len(open) > 0:
			open = open[:len(open)-1]
		case k.is("AS") && len(open) > 0 && open[len(open)-1] && i+1 < len(toks):
			name, params, end := castType(toks[i+1:])
			if !dorisOnly[name] || end == 0 {
				continue
			}
			typ, err := value.ParseType(name, params...)
			if err != nil {
				return "", nil, doriserr.New(doriserr.Analysis, "%s", err.Error())
			}
			sb.WriteString(sql[done:k.end])
			fmt.Fprintf(&sb, " CHAR CHARACTER SET %s%d ", castMark, len(casts))
			casts = append(casts, typ)
			done = toks[i+end].end
		case k.isName(toks, i):
			sb.WriteString(sql[done:k.start] + "`" + k.text + "`")
			done = k.end
		}
	}
	sb.WriteString(sql[done:])
	return sb.String(), casts, nil
}

// plainWords are reserved in MySQL 8 but not in Doris.
var plainWords = map[string]bool{
	"EMPTY": true, "RANK": true, "DENSE_RANK": true, "PERCENT_RANK": true, "CUME_DIST": true, "NTILE": true, "LEAD": true, "LAG": true,
	"FIRST_VALUE": true, "LAST_VALUE": true, "NTH_VALUE": true, "ROW_NUMBER": true, "GROUPS": true, "SYSTEM": true, "FUNCTION": true,
}

// isName reports whether toks[i] is a bare word that the grammar would not take
// as a name: one with other letters than ASCII, or a plain word that no
// function call follows.
func (k tok) isName(toks []tok, i int) bool {
	if !wordByte(k.text[0]) {
		return false
	}
	for j := range len(k.text) {
		if k.text[j] >= utf8.RuneSelf {
			return true
		}
	}
	return plainWords[strings.ToUpper(k.text)] && (i+1 == len(toks) || toks[i+1].text != "(")
}

// dorisOnly are the type names that MySQL's CAST does not take, or takes with
// another meaning.
var dorisOnly = map[string]bool{
	"boolean": true, "bool": true, "tinyint": true, "smallint": true, "int": true, "integer": true, "bigint": true,
	"largeint": true, "string": true, "text": true, "varchar": true, "decimalv3": true, "datev2": true,
	"datetimev2": true, "jsonb": true, "decimal": true, "datetime": true, "double": true, "float": true,
}

// castType reads a type with its parameters; end is how many tokens it takes,
// 0 if they are no type that ends the CAST.
func castType(toks []tok) (name string, params []int, end int) {
	name, end = strings.ToLower(toks[0].text), 1
	if len(toks) > 1 && toks[1].text == "(" {
		for end = 2; end < len(toks) && toks[end].text != ")"; end++ {
			if toks[end].text == "," {
				continue
			}
			n, err := strconv.Atoi(toks[end].text)
			if err != nil {
				return name, nil, 0
			}
			params = append(params, n)
		}
		end++
	}
	if end >= len(toks) || toks[end].text != ")" {
		return name, nil, 0
	}
	return name, params, end
}
