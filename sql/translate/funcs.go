package translate

import (
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
	"dorisgo/value"
)

// function is the rule of a function with plain arguments.
type function struct {
	min, max int // arguments; max < 0 for any number
	build    func(t *translator, a []expr) (expr, error)
}

// functions are all functions that a statement may call, by lower-case name.
// Functions with a syntax of their own come here through keywordCall.
var functions map[string]function

func init() {
	functions = map[string]function{}
	for _, group := range []map[string]function{conditionals, stringFuncs, mathFuncs, dateFuncs, unitFuncs(), jsonFuncs, sessionFuncs} {
		for name, f := range group {
			functions[name] = f
		}
	}
}

const many = -1

// call translates name(args).
func (t *translator) call(e *sqlparser.FuncExpr, sc *scope) (expr, error) {
	name := e.Name.Lowered()
	if !e.Qualifier.IsEmpty() {
		return expr{}, unsupported("function %s.%s", e.Qualifier.String(), e.Name.String())
	}
	if aggregateFuncs[name] != nil {
		return t.aggregateCall(name, e, sc)
	}
	args, err := t.exprs(e.Exprs, sc)
	if err != nil {
		return expr{}, err
	}
	return t.apply(name, args)
}

func (t *translator) apply(name string, args []expr) (expr, error) {
	f, ok := functions[name]
	if !ok {
		return expr{}, unsupported("function %s", name)
	}
	if len(args) < f.min || (f.max >= 0 && len(args) > f.max) {
		return expr{}, doriserr.New(doriserr.Analysis, "Can not found function '%s' which has %d arity", name, len(args))
	}
	return f.build(t, args)
}

// applyTo translates the arguments that are there and calls a function.
func (t *translator) applyTo(name string, sc *scope, args ...sqlparser.Expr) (expr, error) {
	var list []expr
	for _, a := range args {
		if a == nil {
			continue
		}
		e, err := t.expr(a, sc)
		if err != nil {
			return expr{}, err
		}
		list = append(list, e)
	}
	return t.apply(name, list)
}

// keywordCall translates functions that have a syntax of their own.
func (t *translator) keywordCall(e sqlparser.Expr, sc *scope) (expr, error) {
	switch e := e.(type) {
	case *sqlparser.SubstrExpr:
		return t.applyTo("substring", sc, e.Name, e.From, e.To)
	case *sqlparser.LocateExpr:
		return t.applyTo("locate", sc, e.SubStr, e.Str, e.Pos)
	case *sqlparser.InsertExpr:
		return t.applyTo("insert", sc, e.Str, e.Pos, e.Len, e.NewStr)
	case *sqlparser.CharExpr:
		if e.Charset == "" || strings.HasPrefix(strings.ToLower(e.Charset), "utf8") {
			return t.applyTo("char", sc, e.Exprs...)
		}
	case *sqlparser.TrimFuncExpr:
		return t.trim(e, sc)
	case *sqlparser.CurTimeFuncExpr:
		return t.currentTime(e.Name.Lowered(), e.Fsp)
	case *sqlparser.IntervalDateExpr:
		return t.dateArithmetic(e, sc)
	case *sqlparser.TimestampDiffExpr:
		return t.timestampDiff(e, sc)
	case *sqlparser.ExtractFuncExpr:
		return t.extract(e, sc)
	case *sqlparser.RegexpLikeExpr:
		if e.MatchType == nil {
			return t.applyTo("regexp", sc, e.Expr, e.Pattern)
		}
	case *sqlparser.RegexpReplaceExpr:
		if e.Position == nil && e.Occurrence == nil && e.MatchType == nil {
			return t.applyTo("regexp_replace", sc, e.Expr, e.Pattern, e.Repl)
		}
	case *sqlparser.JSONExtractExpr:
		return t.applyTo("json_extract", sc, append([]sqlparser.Expr{e.JSONDoc}, e.PathList...)...)
	case *sqlparser.JSONUnquoteExpr:
		// ->> and json_unquote(json_extract(x, path)).
		if x, ok := e.JSONValue.(*sqlparser.JSONExtractExpr); ok && len(x.PathList) == 1 {
			return t.applyTo("json_extract_string", sc, x.JSONDoc, x.PathList[0])
		}
		return t.applyTo("json_unquote", sc, e.JSONValue)
	case *sqlparser.JSONAttributesExpr:
		return t.jsonAttribute(e, sc)
	case *sqlparser.Argument:
		return expr{}, unsupported("a parameter in a statement that is not prepared")
	case sqlparser.ValTuple:
		return expr{}, doriserr.New(doriserr.Analysis, "Operand should contain 1 column(s)")
	}
	if w, ok := e.(sqlparser.WindowFunc); ok {
		return expr{}, unsupported("window function %s", w.WindowFuncName())
	}
	return expr{}, unsupported("%s", nodeName(e))
}

// plain calls a DuckDB function of another or the same name whose meaning is
// the same, with arguments converted by conv.
func plain(duck string, typ value.Type, conv func(*translator, expr) string) func(*translator, []expr) (expr, error) {
	return func(t *translator, a []expr) (expr, error) {
		parts := make([]string, len(a))
		for i, x := range a {
			parts[i] = conv(t, x)
		}
		return expr{sql: duck + "(" + strings.Join(parts, ", ") + ")", typ: typ}, nil
	}
}

func textArg(t *translator, x expr) string { return t.text(x) }
func doubleArg(t *translator, x expr) string {
	n := t.number(x)
	if n.typ == doubleType {
		return n.sql
	}
	return "CAST(" + n.sql + " AS DOUBLE)"
}

// count is x as a count of characters or digits: a BIGINT, never negative.
func count(t *translator, x expr) string {
	n := t.number(x)
	if n.lit != nil && n.class() == integer && n.lit.text[0] != '-' {
		return n.sql
	}
	return notNegative("CAST(" + n.sql + " AS BIGINT)")
}

// notNegative: DuckDB's greatest would make 0 of NULL.
func notNegative(n string) string { return "(CASE WHEN " + n + " < 0 THEN 0 ELSE " + n + " END)" }

func result(typ value.Type, parts ...string) (expr, error) {
	return expr{sql: strings.Join(parts, ""), typ: typ}, nil
}

var conditionals = map[string]function{
	"if": {3, 3, func(t *translator, a []expr) (expr, error) {
		return t.choose([]string{t.truthOf(a[0])}, a[1:]), nil
	}},
	"ifnull":   {2, 2, coalesce},
	"nvl":      {2, 2, coalesce},
	"coalesce": {1, many, coalesce},
	"nullif": {2, 2, func(t *translator, a []expr) (expr, error) {
		l, r, err := t.coerce(a[0], a[1])
		if err != nil {
			return expr{}, err
		}
		return t.choose([]string{l.sql + " = " + r.sql}, []expr{nullExpr, a[0]}), nil
	}},
	"isnull":   {1, 1, func(_ *translator, a []expr) (expr, error) { return result(boolType, "(", a[0].sql, " IS NULL)") }},
	"not":      {1, 1, func(t *translator, a []expr) (expr, error) { return result(boolType, "(NOT ", t.truthOf(a[0]), ")") }},
	"greatest": {1, many, extreme("greatest")},
	"least":    {1, many, extreme("least")},
}

func coalesce(t *translator, a []expr) (expr, error) {
	typ := t.unify(a)
	return typ.with("COALESCE(" + list(a) + ")"), nil
}

func list(a []expr) string {
	parts := make([]string, len(a))
	for i, x := range a {
		parts[i] = x.sql
	}
	return strings.Join(parts, ", ")
}

// extreme is NULL if any argument is; DuckDB would skip it.
func extreme(name string) func(*translator, []expr) (expr, error) {
	return func(t *translator, a []expr) (expr, error) {
		for i := range a {
			if a[i].class() == boolean {
				a[i] = t.number(a[i])
			}
		}
		typ := t.unify(a)
		nulls := make([]string, len(a))
		for i, x := range a {
			nulls[i] = x.sql + " IS NULL"
		}
		return typ.with("(CASE WHEN " + strings.Join(nulls, " OR ") + " THEN NULL ELSE " + name + "(" + list(a) + ") END)"), nil
	}
}

var sessionFuncs = map[string]function{
	"database": {0, 0, currentDB}, "schema": {0, 0, currentDB},
	"version":         {0, 0, func(t *translator, _ []expr) (expr, error) { return stringLiteral(t.env.Version) }},
	"user":            {0, 0, currentUser},
	"current_user":    {0, 0, currentUser},
	"session_user":    {0, 0, currentUser},
	"system_user":     {0, 0, currentUser},
	"connection_id":   {0, 0, func(t *translator, _ []expr) (expr, error) { return constantExpr(t.env.ConnectionID) }},
	"current_catalog": {0, 0, func(*translator, []expr) (expr, error) { return stringLiteral("internal") }},
	"last_insert_id":  {0, 0, func(*translator, []expr) (expr, error) { return constantExpr(int64(0)) }},
}

func currentDB(t *translator, _ []expr) (expr, error) {
	if t.env.DB == "" {
		return nullExpr, nil
	}
	return stringLiteral(t.env.DB)
}

func currentUser(t *translator, _ []expr) (expr, error) { return stringLiteral(t.env.User) }
