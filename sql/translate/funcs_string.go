package translate

import (
	"strconv"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"
)

var stringFuncs = map[string]function{
	"length":           {1, 1, plain("strlen", bigType, textArg)},
	"octet_length":     {1, 1, plain("strlen", bigType, textArg)},
	"char_length":      {1, 1, plain("length", bigType, textArg)},
	"character_length": {1, 1, plain("length", bigType, textArg)},
	"bit_length": {1, 1, func(t *translator, a []expr) (expr, error) {
		return result(bigType, "(8 * strlen(", t.text(a[0]), "))")
	}},
	"upper":   {1, 1, plain("upper", stringType, textArg)},
	"ucase":   {1, 1, plain("upper", stringType, textArg)},
	"lower":   {1, 1, plain("lower", stringType, textArg)},
	"lcase":   {1, 1, plain("lower", stringType, textArg)},
	"reverse": {1, 1, plain("reverse", stringType, textArg)},
	"md5":     {1, 1, plain("md5", stringType, textArg)},
	"sha1":    {1, 1, plain("sha1", stringType, textArg)},
	"sha":     {1, 1, plain("sha1", stringType, textArg)},
	"sha2": {2, 2, func(t *translator, a []expr) (expr, error) {
		if a[1].lit == nil || (a[1].lit.text != "256" && a[1].lit.text != "0") {
			return expr{}, unsupported("sha2 of another length than 256")
		}
		return result(stringType, "sha256(", t.text(a[0]), ")")
	}},
	"concat": {1, many, func(t *translator, a []expr) (expr, error) {
		// The operator gives NULL if a part is NULL; DuckDB's concat skips it.
		parts := make([]string, len(a))
		for i, x := range a {
			if x.null {
				return result(stringType, "CAST(NULL AS VARCHAR)")
			}
			parts[i] = t.text(x)
		}
		return result(stringType, "(", strings.Join(parts, " || "), ")")
	}},
	"concat_ws":   {2, many, plain("concat_ws", stringType, textArg)},
	"replace":     {3, 3, plain("replace", stringType, textArg)},
	"starts_with": {2, 2, plain("starts_with", boolType, textArg)},
	"ends_with":   {2, 2, plain("ends_with", boolType, textArg)},
	"substring":   {2, 3, substring},
	"substr":      {2, 3, substring},
	"mid":         {3, 3, substring},
	"left":        {2, 2, cut("left")},
	"strleft":     {2, 2, cut("left")},
	"right":       {2, 2, cut("right")},
	"strright":    {2, 2, cut("right")},
	"lpad":        {3, 3, pad("lpad")},
	"rpad":        {3, 3, pad("rpad")},
	"repeat": {2, 2, func(t *translator, a []expr) (expr, error) {
		return result(stringType, "repeat(", t.text(a[0]), ", ", count(t, a[1]), ")")
	}},
	"space": {1, 1, func(t *translator, a []expr) (expr, error) {
		return result(stringType, "repeat(' ', ", count(t, a[0]), ")")
	}},
	"instr": {2, 2, plain("instr", bigType, textArg)},
	"locate": {2, 3, func(t *translator, a []expr) (expr, error) {
		sub, s := t.text(a[0]), t.text(a[1])
		if len(a) == 2 {
			return result(bigType, "instr(", s, ", ", sub, ")")
		}
		pos := "CAST(" + t.number(a[2]).sql + " AS BIGINT)"
		at := "instr(substring(" + s + ", " + pos + "), " + sub + ")"
		return result(bigType, "(CASE WHEN ", pos, " < 1 OR ", at, " = 0 THEN 0 ELSE ", at, " + ", pos, " - 1 END)")
	}},
	"strcmp": {2, 2, func(t *translator, a []expr) (expr, error) {
		l, r := t.text(a[0]), t.text(a[1])
		return result(intType, "(CASE WHEN ", l, " = ", r, " THEN 0 WHEN ", l, " < ", r, " THEN -1 WHEN ", l, " > ", r, " THEN 1 END)")
	}},
	"hex": {1, 1, func(t *translator, a []expr) (expr, error) {
		if c := a[0].class(); c == integer || c == boolean {
			return result(stringType, "hex(", t.bits(a[0]), ")")
		}
		return result(stringType, "hex(", t.text(a[0]), ")")
	}},
	"to_base64": {1, 1, func(t *translator, a []expr) (expr, error) {
		return result(stringType, "to_base64(encode(", t.text(a[0]), "))")
	}},
	"bin": {1, 1, func(t *translator, a []expr) (expr, error) { return result(stringType, "bin(", t.bits(a[0]), ")") }},
	"split_part": {3, 3, func(t *translator, a []expr) (expr, error) {
		return result(stringType, "split_part(", t.text(a[0]), ", ", t.text(a[1]), ", ", t.bits(a[2]), ")")
	}},
	"substring_index": {3, 3, substringIndex},
	"field": {2, many, func(t *translator, a []expr) (expr, error) {
		var sb strings.Builder
		sb.WriteString("(CASE")
		for i, x := range a[1:] {
			l, r, err := t.coerce(a[0], x)
			if err != nil {
				return expr{}, err
			}
			sb.WriteString(" WHEN " + l.sql + " = " + r.sql + " THEN " + itoa(i+1))
		}
		return result(intType, sb.String(), " ELSE 0 END)")
	}},
	"find_in_set": {2, 2, func(t *translator, a []expr) (expr, error) {
		s, set := t.text(a[0]), t.text(a[1])
		return result(intType, "(CASE WHEN instr(", s, ", ',') > 0 OR ", set, " = '' THEN 0 ELSE COALESCE(list_position(string_split(", set, ", ','), ", s, "), 0) END)")
	}},
	"ascii":  {1, 1, ascii},
	"char":   {1, many, char},
	"insert": {4, 4, insert},
	"trim":   {1, 2, trimChars("trim")},
	"ltrim":  {1, 2, trimChars("ltrim")},
	"rtrim":  {1, 2, trimChars("rtrim")},
	"regexp": {2, 2, plain("regexp_matches", boolType, textArg)},
	"regexp_replace": {3, 3, func(t *translator, a []expr) (expr, error) {
		return result(stringType, "regexp_replace(", t.text(a[0]), ", ", t.text(a[1]), ", ", t.text(a[2]), ", 'g')")
	}},
	"regexp_extract": {3, 3, func(t *translator, a []expr) (expr, error) {
		if a[2].lit == nil || a[2].class() != integer {
			return expr{}, unsupported("regexp_extract with a computed group")
		}
		return result(stringType, "regexp_extract(", t.text(a[0]), ", ", t.text(a[1]), ", ", a[2].sql, ")")
	}},
}

// substring counts from 1; a negative position counts from the end, and 0 or
// one before the start gives the empty string.
func substring(t *translator, a []expr) (expr, error) {
	s := t.text(a[0])
	pos := t.number(a[1])
	length := ""
	if len(a) == 3 {
		length = ", " + count(t, a[2])
	}
	if pos.lit != nil && pos.class() == integer {
		switch n, err := strconv.ParseInt(pos.lit.text, 10, 64); {
		case err == nil && n > 0:
			return result(stringType, "substring(", s, ", ", pos.sql, length, ")")
		case err == nil && n < 0:
			return result(stringType, "(CASE WHEN length(", s, ") < ", strings.TrimPrefix(pos.lit.text, "-"), " THEN '' ELSE substring(", s, ", ", pos.sql, length, ") END)")
		}
	}
	p := "CAST(" + pos.sql + " AS BIGINT)"
	return result(stringType, "(CASE WHEN ", p, " = 0 OR length(", s, ") < -", p, " THEN '' ELSE substring(", s, ", ", p, length, ") END)")
}

func cut(name string) func(*translator, []expr) (expr, error) {
	return func(t *translator, a []expr) (expr, error) {
		return result(stringType, name, "(", t.text(a[0]), ", ", count(t, a[1]), ")")
	}
}

// pad: nothing to pad with gives the empty string if padding is needed.
func pad(name string) func(*translator, []expr) (expr, error) {
	return func(t *translator, a []expr) (expr, error) {
		s, n, p := t.text(a[0]), "CAST("+t.number(a[1]).sql+" AS INTEGER)", t.text(a[2])
		call := name + "(" + s + ", " + n + ", " + p + ")"
		if a[2].lit != nil && a[2].lit.text != "" && a[1].lit != nil && a[1].lit.text[0] != '-' {
			return result(stringType, call)
		}
		return result(stringType, "(CASE WHEN ", n, " < 0 THEN NULL WHEN ", p, " = '' AND length(", s, ") < ", n, " THEN '' ELSE ", call, " END)")
	}
}

func substringIndex(t *translator, a []expr) (expr, error) {
	n := t.number(a[2])
	if n.lit == nil || n.class() != integer || a[1].lit == nil || a[1].lit.text == "" {
		return expr{}, unsupported("substring_index with a computed delimiter or count")
	}
	delim := t.text(a[1])
	parts := "string_split(" + t.text(a[0]) + ", " + delim + ")"
	if n.lit.text[0] == '-' {
		return result(stringType, "array_to_string((", parts, ")[", n.lit.text, ":], ", delim, ")")
	}
	return result(stringType, "array_to_string(list_slice(", parts, ", 1, ", n.sql, "), ", delim, ")")
}

// trimChars removes one string (blanks without it) from the ends, as often as
// it is there. DuckDB's removes characters of a set.
func trimChars(name string) func(*translator, []expr) (expr, error) {
	return func(t *translator, a []expr) (expr, error) {
		s, what := t.text(a[0]), " "
		if len(a) == 2 {
			if a[1].lit == nil || !a[1].lit.string {
				return expr{}, unsupported("%s of a computed string", name)
			}
			what = a[1].lit.text
		}
		switch len([]rune(what)) {
		case 0:
			return result(stringType, s)
		case 1:
			return result(stringType, name, "(", s, ", ", quote(what), ")")
		}
		re := `(?:\Q` + strings.ReplaceAll(what, `\E`, `\E\\E\Q`) + `\E)+`
		if name != "rtrim" {
			s = "regexp_replace(" + s + ", " + quote("^"+re) + ", '')"
		}
		if name != "ltrim" {
			s = "regexp_replace(" + s + ", " + quote(re+"$") + ", '')"
		}
		return result(stringType, s)
	}
}

func (t *translator) trim(e *sqlparser.TrimFuncExpr, sc *scope) (expr, error) {
	name := "trim"
	switch {
	case e.TrimFuncType == sqlparser.LTrimType || e.Type == sqlparser.LeadingTrimType:
		name = "ltrim"
	case e.TrimFuncType == sqlparser.RTrimType || e.Type == sqlparser.TrailingTrimType:
		name = "rtrim"
	}
	return t.applyTo(name, sc, e.StringArg, e.TrimArg)
}

// ascii is the first byte, not the first character.
func ascii(t *translator, a []expr) (expr, error) {
	s := t.text(a[0])
	return result(intType, "(CASE WHEN ", s, " = '' THEN 0 ELSE CAST('0x' || left(hex(", s, "), 2) AS INTEGER) END)")
}

func char(t *translator, a []expr) (expr, error) {
	parts := make([]string, len(a))
	for i, x := range a {
		if x.lit == nil || x.class() != integer {
			return expr{}, unsupported("char of a computed number")
		}
		n, err := strconv.Atoi(x.lit.text)
		if err != nil || n < 1 || n > 127 {
			return expr{}, unsupported("char(%s)", x.lit.text)
		}
		parts[i] = "chr(" + x.sql + ")"
	}
	return result(stringType, "(", strings.Join(parts, " || "), ")")
}

// insert replaces n characters from a position; a position outside changes
// nothing.
func insert(t *translator, a []expr) (expr, error) {
	s, pos, n, with := t.text(a[0]), t.bits(a[1]), t.bits(a[2]), t.text(a[3])
	head := "substring(" + s + ", 1, " + pos + " - 1) || " + with
	return result(stringType, "(CASE WHEN ", pos, " < 1 OR ", pos, " > length(", s, ") THEN ", s,
		" WHEN ", n, " < 0 OR ", pos, " + ", n, " > length(", s, ") THEN ", head,
		" ELSE ", head, " || substring(", s, ", ", pos, " + ", n, ") END)")
}
