package ddl

import (
	"strings"

	"dorisgo/sql/token"
)

// user reads 'name'[@'host'] or name@host.
func (p *parser) user() UserName {
	u := UserName{Name: p.nameOrString(), Host: "%"}
	switch t := p.peek(); {
	case t.Kind == token.UserVar:
		p.next()
		u.Host = token.Name(p.text(t)[1:])
	case t.Is(p.lex.Src, '@'):
		p.next()
		// @(domain) and @ 'host' with a blank.
		if p.isSign('(') {
			p.unsupported("a domain as host of a user")
		}
		t = p.next()
		if t.Kind != token.String && t.Kind != token.Word && t.Kind != token.Quoted && !t.Is(p.lex.Src, '%') {
			p.wrong(t, "host")
		}
		u.Host = token.Name(p.text(t))
	}
	return u
}

// createUser reads what follows CREATE USER.
func (p *parser) createUser() Statement {
	s := &CreateUser{IfNotExists: p.accept("IF", "NOT", "EXISTS"), User: p.user()}
	if p.accept("IDENTIFIED") {
		pw := p.identified()
		s.Password = &pw
	}
	if p.accept("DEFAULT") {
		p.unsupported("DEFAULT ROLE of CREATE USER")
	}
	p.userOptions()
	return s
}

// userOptions refuses password policies and reads a comment.
func (p *parser) userOptions() {
	if p.accept("COMMENT") {
		p.str()
	}
	if t := p.peek(); t.Kind == token.Word {
		p.unsupported("user option " + token.Shown([]byte(upper(p.text(t)))))
	}
}

// identified reads what follows IDENTIFIED: BY [PASSWORD] 'text'.
func (p *parser) identified() Password {
	if p.accept("WITH") {
		p.nameOrString()
		if !p.isWord("BY") {
			p.expect("AS")
			return Password{Text: p.str(), Hashed: true}
		}
	}
	p.expect("BY")
	hashed := p.accept("PASSWORD")
	return Password{Text: p.str(), Hashed: hashed}
}

// alterUser reads what follows ALTER USER.
func (p *parser) alterUser() Statement {
	s := &SetPassword{IfExists: p.accept("IF", "EXISTS")}
	u := p.user()
	s.User = &u
	if !p.accept("IDENTIFIED") {
		p.refuse("ALTER USER ...", "IDENTIFIED")
	}
	s.Password = p.identified()
	p.userOptions()
	return s
}

// setPassword reads what follows SET PASSWORD.
func (p *parser) setPassword() Statement {
	s := &SetPassword{}
	if p.accept("FOR") {
		u := p.user()
		s.User = &u
	}
	p.expectSign('=')
	if p.accept("PASSWORD") {
		p.expectSign('(')
		s.Password.Text = p.str()
		p.expectSign(')')
		return s
	}
	// Without PASSWORD() Doris takes the hashed form; a plain text is one that
	// has not its shape.
	s.Password.Text = p.str()
	s.Password.Hashed = isHash(s.Password.Text)
	return s
}

// isHash reports whether s is * and 40 hexadecimal digits.
func isHash(s string) bool {
	return len(s) == 41 && s[0] == '*' && strings.Trim(s[1:], "0123456789abcdefABCDEF") == ""
}

// grant reads what follows GRANT or REVOKE.
func (p *parser) grant(revoke bool) Statement {
	s := &Grant{Revoke: revoke}
	for {
		s.Privileges = append(s.Privileges, p.privilege())
		if !p.acceptSign(',') {
			break
		}
	}
	if p.accept("ON") {
		s.Scope = p.scope()
		for i, v := range s.Privileges {
			s.Privileges[i] = strings.ToUpper(v)
		}
	}
	if revoke {
		p.expect("FROM")
	} else {
		p.expect("TO")
	}
	if s.Role = p.accept("ROLE"); s.Role {
		s.User = UserName{Name: p.nameOrString()}
		return s
	}
	s.User = p.user()
	return s
}

// privilege reads one privilege or role; a privilege may have several words
// and a list of columns.
func (p *parser) privilege() string {
	name := p.nameOrString()
	if strings.EqualFold(name, "ALL") {
		p.accept("PRIVILEGES")
		return "ALL"
	}
	if p.isSign('(') {
		p.unsupported("GRANT on columns")
	}
	return name
}

// scope reads what ON names up to TO or FROM.
func (p *parser) scope() string {
	var b strings.Builder
	if w := p.acceptOne("RESOURCE", "WORKLOAD", "CLUSTER", "COMPUTE", "STORAGE", "STAGE"); w != "" {
		p.unsupported("GRANT ON " + w)
	}
	for {
		if p.acceptSign('*') {
			b.WriteByte('*')
		} else {
			b.WriteString(p.nameOrString())
		}
		if !p.acceptSign('.') {
			return b.String()
		}
		b.WriteByte('.')
	}
}
