package session

import "strings"

// sqlModes are the flags of sql_mode that MySQL 5.7 and 8 and Doris know.
// Only NO_BACKSLASH_ESCAPES, PIPES_AS_CONCAT and ANSI_QUOTES change anything.
var sqlModes = map[string]bool{
	"REAL_AS_FLOAT": true, "PIPES_AS_CONCAT": true, "ANSI_QUOTES": true, "IGNORE_SPACE": true, "NOT_USED": true,
	"ONLY_FULL_GROUP_BY": true, "NO_UNSIGNED_SUBTRACTION": true, "NO_DIR_IN_CREATE": true, "POSTGRESQL": true,
	"ORACLE": true, "MSSQL": true, "DB2": true, "MAXDB": true, "NO_KEY_OPTIONS": true, "NO_TABLE_OPTIONS": true,
	"NO_FIELD_OPTIONS": true, "MYSQL323": true, "MYSQL40": true, "ANSI": true, "NO_AUTO_VALUE_ON_ZERO": true,
	"NO_BACKSLASH_ESCAPES": true, "STRICT_TRANS_TABLES": true, "STRICT_ALL_TABLES": true, "NO_ZERO_IN_DATE": true,
	"NO_ZERO_DATE": true, "ALLOW_INVALID_DATES": true, "INVALID_DATES": true, "ERROR_FOR_DIVISION_BY_ZERO": true,
	"TRADITIONAL": true, "NO_AUTO_CREATE_USER": true, "HIGH_NOT_PRECEDENCE": true, "NO_ENGINE_SUBSTITUTION": true,
	"PAD_CHAR_TO_FULL_LENGTH": true, "TIME_TRUNCATE_FRACTIONAL": true,
}

// checkSQLMode brings a list of modes into upper case.
func checkSQLMode(name, text string) (string, error) {
	if text == "" || text == "0" {
		return "", nil
	}
	parts := strings.Split(strings.ToUpper(text), ",")
	kept := parts[:0]
	for _, p := range parts {
		p = strings.TrimSpace(p)
		switch {
		case p == "":
		case !sqlModes[p]:
			return "", errWrongValue(name, text)
		default:
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ","), nil
}

// hasMode reports whether a stored sql_mode has the flag.
func hasMode(modes, flag string) bool {
	for len(modes) > 0 {
		m, rest, _ := strings.Cut(modes, ",")
		if m == flag {
			return true
		}
		modes = rest
	}
	return false
}
