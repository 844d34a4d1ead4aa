package ddl

import (
	"strconv"

	"dorisgo/sql/token"
)

// admin reads what follows ADMIN.
func (p *parser) admin() Statement {
	switch {
	case p.accept("SET", "FRONTEND"):
		s := &AdminSetConfig{}
		s.All = p.accept("ALL")
		if p.acceptOne("CONFIG", "CONFIGS") == "" {
			p.wrong(p.peek(), "CONFIG")
		}
		s.Config = p.properties()
		s.All = s.All || p.accept("ALL")
		return s
	case p.accept("SHOW"):
		return p.show()
	case p.accept("CHECK", "TABLET"):
		return p.checkTablets()
	}
	p.refuse("ADMIN", "{'CHECK', 'SET', 'SHOW'}")
	return nil
}

// checkTablets reads what follows ADMIN CHECK TABLET.
func (p *parser) checkTablets() Statement {
	s := &AdminCheckTablets{}
	p.expectSign('(')
	for {
		t := p.peek()
		id, err := strconv.ParseInt(string(p.text(t)), 10, 64)
		if t.Kind != token.Integer || err != nil {
			p.wrong(t, "INTEGER_VALUE")
		}
		p.next()
		s.Tablets = append(s.Tablets, id)
		if !p.acceptSign(',') {
			break
		}
	}
	p.expectSign(')')
	if p.accept("PROPERTIES") {
		s.Properties = p.properties()
	}
	return s
}

// systemActions maps the words after ALTER SYSTEM. Longer ones come first.
var systemActions = []struct {
	words  []string
	action SystemAction
}{
	{[]string{"ADD", "BACKEND"}, AddBackend},
	{[]string{"ADD", "FOLLOWER"}, AddFollower},
	{[]string{"ADD", "OBSERVER"}, AddObserver},
	{[]string{"DROPP", "BACKEND"}, DropBackendForce},
	{[]string{"DROP", "BACKEND"}, DropBackend},
	{[]string{"DROP", "FOLLOWER"}, DropFollower},
	{[]string{"DROP", "OBSERVER"}, DropObserver},
	{[]string{"DECOMMISSION", "BACKEND"}, DecommissionBackend},
	{[]string{"MODIFY", "BACKEND"}, ModifyBackend},
}

// alterSystem reads what follows ALTER SYSTEM.
func (p *parser) alterSystem() Statement {
	for _, a := range systemActions {
		if p.accept(a.words...) {
			return p.nodes(a.action)
		}
	}
	p.refuse("ALTER SYSTEM", "{'ADD', 'DECOMMISSION', 'DROP', 'DROPP', 'MODIFY'}")
	return nil
}

// nodes reads "host:port", ... and what may follow.
func (p *parser) nodes(a SystemAction) Statement {
	s := &AlterSystem{Action: a}
	if p.isWord("TO") {
		p.unsupported("a cluster of ALTER SYSTEM")
	}
	for {
		s.Hosts = append(s.Hosts, p.node())
		if !p.acceptSign(',') {
			break
		}
	}
	switch {
	case p.accept("PROPERTIES"), a == ModifyBackend && p.accept("SET"):
		s.Properties = p.properties()
	}
	return s
}

// node reads a host in quotes, or an id.
func (p *parser) node() string {
	if t := p.peek(); t.Kind == token.Integer {
		p.next()
		return string(p.text(t))
	}
	return p.str()
}

// cancel reads what follows CANCEL.
func (p *parser) cancel() Statement {
	if !p.accept("DECOMMISSION", "BACKEND") {
		p.refuse("CANCEL", "DECOMMISSION")
	}
	return p.nodes(CancelDecommission)
}
