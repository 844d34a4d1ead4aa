package ddl

import (
	"unicode"
	"unicode/utf8"

	"dorisgo/doriserr"
)

// The longest names in bytes.
const (
	maxTableName    = 64
	maxDatabaseName = 64
	maxColumnName   = 256
)

// nameRule describes CheckTableName's rule in error texts.
const nameRule = `^[\p{L}_][\p{L}\p{N}\-_]*$`

// CheckDatabaseName refuses names that no database may have: it starts with a
// letter of any script or an underscore; letters, digits, - and _ follow.
func CheckDatabaseName(name string) error {
	if !plainName(name, maxDatabaseName) {
		return doriserr.New(doriserr.Analysis, "Incorrect database name '%s'. Database name regex is '%s'", name, nameRule)
	}
	return nil
}

// CheckTableName refuses names that no table may have, by the rule of
// databases.
func CheckTableName(name string) error {
	if !plainName(name, maxTableName) {
		return doriserr.New(doriserr.Analysis, "Incorrect table name '%s'. Table name regex is '%s'", name, nameRule)
	}
	return nil
}

func plainName(name string, limit int) bool {
	if name == "" || len(name) > limit || !utf8.ValidString(name) {
		return false
	}
	for i, r := range name {
		switch {
		case unicode.IsLetter(r), r == '_':
		case i > 0 && (unicode.IsNumber(r) || unicode.IsMark(r) || r == '-'):
		default:
			return false
		}
	}
	return true
}

// checkColumnName allows every printable character but back quotes.
func checkColumnName(name string) error {
	ok := name != "" && len(name) <= maxColumnName && utf8.ValidString(name)
	for _, r := range name {
		ok = ok && r != '`' && (unicode.IsPrint(r) || r == '\t')
	}
	if !ok {
		return doriserr.New(doriserr.Analysis, "Incorrect column name '%s'", name)
	}
	return nil
}
