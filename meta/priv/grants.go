package priv

import (
	"slices"

	"dorisgo/meta"
)

// Privilege is what an account may do, by Doris' name.
type Privilege string

// The privileges. ADMIN includes all others.
const (
	Admin  Privilege = "ADMIN"
	Node   Privilege = "NODE"
	Grant  Privilege = "GRANT"
	Select Privilege = "SELECT"
	Load   Privilege = "LOAD"
	Alter  Privilege = "ALTER"
	Create Privilege = "CREATE"
	Drop   Privilege = "DROP"
)

// Allowed reports whether a user has a privilege everywhere. A nil user has
// none.
func Allowed(u *meta.User, p Privilege) bool {
	if u == nil {
		return false
	}
	return slices.Contains(u.Grants, string(Admin)) || slices.Contains(u.Grants, string(p))
}

// IsAdmin reports whether a user may do everything.
func IsAdmin(u *meta.User) bool { return Allowed(u, Admin) }
