package session

import (
	"maps"
	"slices"
	"strings"

	"dorisgo/doriserr"
)

// Get is the session's value of a variable; GLOBAL-only ones have the global.
func (s *Session) Get(name string) (Value, error) {
	v, err := Lookup(name)
	if err != nil {
		return Null, err
	}
	return s.value(v.id), nil
}

// Globals is the snapshot of global values that the session started with.
func (s *Session) Globals() *Globals { return s.globals }

// Set sets a session variable. On an error the old value stays.
func (s *Session) Set(name string, val Value) error {
	v, err := s.settable(name)
	if err != nil {
		return err
	}
	if val, err = v.Convert(val); err != nil {
		return err
	}
	if s.over == nil {
		s.over = make(map[int]Value)
	}
	for _, id := range twins(v.id) {
		s.over[id] = val
		s.refresh(id)
	}
	return nil
}

// SetDefault sets a session variable back to its global value (SET x = DEFAULT).
func (s *Session) SetDefault(name string) error {
	v, err := s.settable(name)
	if err != nil {
		return err
	}
	for _, id := range twins(v.id) {
		delete(s.over, id)
		s.refresh(id)
	}
	return nil
}

func (s *Session) settable(name string) (*Variable, error) {
	v, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	switch v.Scope {
	case ReadOnly:
		return nil, errReadOnly(v.Name)
	case GlobalOnly:
		return nil, errGlobalOnly(v.Name)
	}
	return v, nil
}

// twinned are pairs of names of one thing.
var twinned = pairs(map[string]string{
	"tx_isolation": "transaction_isolation",
	"tx_read_only": "transaction_read_only",
	"identity":     "last_insert_id",
})

func pairs(names map[string]string) map[int]int {
	m := make(map[int]int)
	for a, b := range names {
		m[mustID(a)], m[mustID(b)] = mustID(b), mustID(a)
	}
	return m
}

func twins(id int) []int {
	if other, ok := twinned[id]; ok {
		return []int{id, other}
	}
	return []int{id}
}

// SetNames is SET NAMES charset [COLLATE collation]; "" or "default" is the
// global character set.
func (s *Session) SetNames(charset, collation string) error {
	names := []string{"character_set_client", "character_set_connection", "character_set_results"}
	if charset == "" || strings.EqualFold(charset, "default") {
		for _, n := range append(names, "collation_connection") {
			if err := s.SetDefault(n); err != nil {
				return err
			}
		}
		return nil
	}
	set, err := checkCharset("", charset)
	if err != nil {
		return err
	}
	if collation == "" {
		collation = set + "_general_ci"
	}
	if collation, err = checkCollation("collation_connection", collation); err != nil {
		return err
	}
	for _, n := range names {
		if err := s.Set(n, String(set)); err != nil {
			return err
		}
	}
	return s.Set("collation_connection", String(collation))
}

// SetTransaction is SET [SESSION] TRANSACTION: an isolation level such as "READ
// COMMITTED", or an access mode ("READ ONLY", "READ WRITE"). It changes what
// the variables show, not how statements run: every statement is atomic.
func (s *Session) SetTransaction(characteristic string) error {
	switch c := strings.ToUpper(strings.Join(strings.Fields(characteristic), " ")); c {
	case "READ ONLY":
		return s.Set("transaction_read_only", Bool(true))
	case "READ WRITE":
		return s.Set("transaction_read_only", Bool(false))
	default:
		return s.Set("transaction_isolation", String(strings.ReplaceAll(c, " ", "-")))
	}
}

// maxUserVars and maxUserVarBytes bound what one client can make a session
// keep.
const (
	maxUserVars     = 1024
	maxUserVarBytes = 1 << 20
)

// SetUserVar sets @name.
func (s *Session) SetUserVar(name string, val Value) error {
	name = strings.ToLower(name)
	if _, known := s.user[name]; !known && len(s.user) >= maxUserVars {
		return doriserr.New(doriserr.ExceededLimit, "a session can have at most %d user variables", maxUserVars)
	}
	if len(val.Str) > maxUserVarBytes {
		return doriserr.New(doriserr.ExceededLimit, "a user variable can hold at most %d bytes", maxUserVarBytes)
	}
	if s.user == nil {
		s.user = make(map[string]Value)
	}
	s.user[name] = val
	return nil
}

// UserVar is @name, NULL if it was never set.
func (s *Session) UserVar(name string) Value { return s.user[strings.ToLower(name)] }

// UserVars lists the names of the user variables in order.
func (s *Session) UserVars() []string { return slices.Sorted(maps.Keys(s.user)) }

// Row is a row of SHOW VARIABLES.
type Row struct {
	Name, Value, Default string
	// Changed says that Value is not the default.
	Changed bool
}

// Show is SHOW [SESSION] VARIABLES LIKE pattern in order of name; an empty
// pattern is all.
func (s *Session) Show(pattern string) []Row {
	return show(pattern, func(v *Variable) (Value, bool) { return s.value(v.id), true })
}

// Show is SHOW GLOBAL VARIABLES LIKE pattern, as Session.Show.
func (g *Globals) Show(pattern string) []Row {
	return show(pattern, func(v *Variable) (Value, bool) { return g.vals[v.id], v.Scope != SessionOnly })
}

func show(pattern string, get func(*Variable) (Value, bool)) []Row {
	var rows []Row
	for _, v := range variables {
		val, ok := get(v)
		if !ok || pattern != "" && !Like(pattern, v.Name) {
			continue
		}
		r := Row{Name: v.Name, Value: v.Show(val), Default: v.Show(v.Default)}
		r.Changed = r.Value != r.Default
		rows = append(rows, r)
	}
	return rows
}
