package ddl

import "dorisgo/sql/token"

// begin reads what follows BEGIN.
func (p *parser) begin() Statement {
	p.acceptOne("WORK", "TRANSACTION")
	s := &Begin{}
	if p.accept("WITH", "LABEL") {
		if !p.atEnd() {
			s.Label = p.nameOrString()
		}
	}
	return s
}

// start reads START TRANSACTION and its characteristics, which change nothing.
func (p *parser) start() Statement {
	p.expect("TRANSACTION")
	for !p.atEnd() {
		switch {
		case p.accept("WITH", "CONSISTENT", "SNAPSHOT"), p.accept("READ", "WRITE"), p.accept("READ", "ONLY"):
		default:
			p.wrong(p.peek(), "<EOF>")
		}
		p.acceptSign(',')
	}
	return &Begin{}
}

func (p *parser) commit() Statement {
	p.transactionEnd()
	return &Commit{}
}

func (p *parser) rollback() Statement {
	p.transactionEnd()
	if p.isWord("TO") {
		p.unsupported("ROLLBACK TO SAVEPOINT")
	}
	return &Rollback{}
}

// transactionEnd reads [WORK] [AND [NO] CHAIN] [[NO] RELEASE].
func (p *parser) transactionEnd() {
	p.accept("WORK")
	if p.accept("AND") && !p.accept("NO", "CHAIN") {
		p.unsupported("AND CHAIN")
	}
	if !p.accept("NO", "RELEASE") && p.isWord("RELEASE") {
		p.unsupported("RELEASE")
	}
}

// kill reads what follows KILL.
func (p *parser) kill() Statement {
	s := &Kill{Query: p.accept("QUERY")}
	if !s.Query {
		p.accept("CONNECTION")
	}
	if p.peek().Kind == token.String {
		s.QueryID = p.str()
		return s
	}
	s.ID = p.integer()
	return s
}

// lock reads LOCK TABLES t [AS a] READ|WRITE, ...
func (p *parser) lock() Statement {
	if p.acceptOne("TABLES", "TABLE") == "" {
		p.wrong(p.peek(), "TABLES")
	}
	for {
		p.table()
		if p.accept("AS") {
			p.name()
		}
		p.accept("LOW_PRIORITY")
		if w := p.acceptOne("READ", "WRITE"); w == "" {
			p.wrong(p.peek(), "{'READ', 'WRITE'}")
		}
		p.accept("LOCAL")
		if !p.acceptSign(',') {
			return &LockTables{}
		}
	}
}

func (p *parser) unlock() Statement {
	if p.acceptOne("TABLES", "TABLE") == "" {
		p.wrong(p.peek(), "TABLES")
	}
	return &UnlockTables{}
}

// clean reads what follows CLEAN.
func (p *parser) clean() Statement {
	if !p.accept("LABEL") {
		p.refuse("CLEAN", "LABEL")
	}
	s := &CleanLabel{}
	if !p.isWord("FROM", "IN") && !p.atEnd() {
		s.Label = p.nameOrString()
	}
	if p.acceptOne("FROM", "IN") != "" {
		s.DB = p.database()
	}
	return s
}
