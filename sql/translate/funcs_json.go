package translate

import (
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/value"
)

var jsonFuncs = map[string]function{
	"json_extract":         {2, 2, func(t *translator, a []expr) (expr, error) { return jsonPath(t, a, "json_extract", jsonType) }},
	"jsonb_extract":        {2, 2, func(t *translator, a []expr) (expr, error) { return jsonPath(t, a, "json_extract", jsonType) }},
	"json_extract_string":  {2, 2, jsonString},
	"jsonb_extract_string": {2, 2, jsonString},
	"get_json_string":      {2, 2, jsonString},
	"get_json_object":      {2, 2, jsonString},
	"json_extract_int":     {2, 2, jsonCast(intType)},
	"jsonb_extract_int":    {2, 2, jsonCast(intType)},
	"get_json_int":         {2, 2, jsonCast(intType)},
	"json_extract_bigint":  {2, 2, jsonCast(bigType)},
	"jsonb_extract_bigint": {2, 2, jsonCast(bigType)},
	"get_json_bigint":      {2, 2, jsonCast(bigType)},
	"json_extract_double":  {2, 2, jsonCast(doubleType)},
	"jsonb_extract_double": {2, 2, jsonCast(doubleType)},
	"get_json_double":      {2, 2, jsonCast(doubleType)},
	"json_unquote": {1, 1, func(t *translator, a []expr) (expr, error) {
		s := t.text(a[0])
		return result(stringType, "(CASE WHEN ", s, " LIKE '\"%\"' AND json_valid(", s, ") THEN json_extract_string(", s, ", '$') ELSE ", s, " END)")
	}},
	"json_valid": {1, 1, func(t *translator, a []expr) (expr, error) { return result(boolType, "json_valid(", t.text(a[0]), ")") }},
}

// jsonPath wants a literal path of the shape that both dialects read alike.
func jsonPath(t *translator, a []expr, fn string, typ value.Type) (expr, error) {
	p := a[1]
	if p.lit == nil || !p.lit.string || !strings.HasPrefix(p.lit.text, "$") || strings.Contains(p.lit.text, "*") {
		return expr{}, unsupported("a JSON path that is computed, has wildcards or does not start with $")
	}
	return result(typ, "CAST(", fn, "(", t.text(a[0]), ", ", p.sql, ") AS VARCHAR)")
}

func jsonString(t *translator, a []expr) (expr, error) {
	return jsonPath(t, a, "json_extract_string", stringType)
}

func jsonCast(typ value.Type) func(*translator, []expr) (expr, error) {
	return func(t *translator, a []expr) (expr, error) {
		e, err := jsonString(t, a)
		if err != nil {
			return expr{}, err
		}
		return t.castTo(e, typ)
	}
}

func (t *translator) jsonAttribute(e *sqlparser.JSONAttributesExpr, sc *scope) (expr, error) {
	if e.Type == sqlparser.ValidAttributeType && e.Path == nil {
		return t.applyTo("json_valid", sc, e.JSONDoc)
	}
	return expr{}, unsupported("%s", nodeName(e))
}
