package exec

import (
	"container/list"
	"context"
	"fmt"
	"strings"
	"sync"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/duck"
	"dorisgo/load"
	"dorisgo/sql/translate"
	"dorisgo/value"
)

// maxPrograms is how many programs are kept for later loads of the same
// mapping; each that was used holds a connection of the engine.
const maxPrograms = 128

// Expressions compiles and evaluates the expressions of loads. It is safe for
// concurrent use.
type Expressions struct {
	open func() (*duck.DB, error)
	// reads has room for the Parquet files that are read at a time.
	reads chan struct{}

	life context.Context
	end  context.CancelCauseFunc
	wg   sync.WaitGroup

	mu       sync.Mutex
	db       *duck.DB
	programs map[string]*list.Element // of *program
	recent   *list.List
	closed   bool
}

// NewExpressions makes an Expressions whose engine is opened when the first
// expression comes: most nodes never see one. It owns the engine.
func NewExpressions(open func() (*duck.DB, error)) *Expressions {
	e := &Expressions{open: open, reads: make(chan struct{}, ParquetReads), programs: map[string]*list.Element{}, recent: list.New()}
	e.life, e.end = context.WithCancelCause(context.Background())
	return e
}

// Close ends what runs and closes the engine.
func (e *Expressions) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.end(stopping())
	e.wg.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	for el := e.recent.Front(); el != nil; el = el.Next() {
		el.Value.(*program).prepared.Close()
	}
	if e.db == nil {
		return nil
	}
	return e.db.Close()
}

func stopping() error {
	return doriserr.New(doriserr.Stopping, "the backend is stopping")
}

// engine is the engine, opened by the first who asks.
func (e *Expressions) engine() (*duck.DB, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, stopping()
	}
	if e.db == nil {
		db, err := e.open()
		if err != nil {
			return nil, fmt.Errorf("cannot open the engine of loads: %w", err)
		}
		e.db = db
	}
	return e.db, nil
}

// Compile is a load.Compile. What the engine has against the expressions is
// known when it returns.
func (e *Expressions) Compile(ctx context.Context, s *load.ProgramSpec) (*load.Program, error) {
	key := specKey(s)
	if p := e.cached(key); p != nil {
		return &p.Program, nil
	}
	db, err := e.engine()
	if err != nil {
		return nil, err
	}
	p, timed, err := e.translate(db, s)
	if err != nil {
		return nil, err
	}
	if err := p.prepared.Check(ctx); err != nil {
		p.prepared.Close()
		return nil, s.Outputs[0].Wrap(err)
	}
	if timed {
		// Good for this request alone.
		p.retire()
		return &p.Program, nil
	}
	return &e.keep(key, p).Program, nil
}

// specKey has everything that results depend on but the time.
func specKey(s *load.ProgramSpec) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "%s", s.Now.Location())
	for _, o := range s.Outputs {
		fmt.Fprintf(&sb, "\x00%s\x00%t %t %v", o.Text, o.OverColumns, o.Condition, o.Want)
	}
	sb.WriteString("\x00\x00")
	sb.WriteString(strings.Join(s.Sources, "\x00"))
	for _, c := range s.Columns {
		fmt.Fprintf(&sb, "\x00%s\x00%v", c.Name, c.Type)
	}
	return sb.String()
}

func (e *Expressions) cached(key string) *program {
	e.mu.Lock()
	defer e.mu.Unlock()
	el := e.programs[key]
	if el == nil {
		return nil
	}
	e.recent.MoveToFront(el)
	return el.Value.(*program)
}

// keep remembers a program, unless another request was faster, and lets the
// least recently used one go.
func (e *Expressions) keep(key string, p *program) *program {
	kept, gone := e.remember(key, p)
	if gone != nil {
		gone.retire()
	}
	return kept
}

func (e *Expressions) remember(key string, p *program) (kept, gone *program) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return p, p
	}
	if el := e.programs[key]; el != nil {
		return el.Value.(*program), p
	}
	p.key = key
	e.programs[key] = e.recent.PushFront(p)
	if e.recent.Len() <= maxPrograms {
		return p, nil
	}
	gone = e.recent.Remove(e.recent.Back()).(*program)
	delete(e.programs, gone.key)
	return p, gone
}

// translate makes a program of a spec's expressions.
func (e *Expressions) translate(db *duck.DB, s *load.ProgramSpec) (p *program, timed bool, err error) {
	sources := make([]translate.Input, len(s.Sources))
	for i, name := range s.Sources {
		sources[i] = translate.Input{Name: name, Type: value.Type{Kind: value.String}, SQL: fmt.Sprintf("s%d", i)}
	}
	columns := make([]translate.Input, len(s.Columns))
	for i, c := range s.Columns {
		columns[i] = translate.Input{Name: c.Name, Type: c.Type, SQL: fmt.Sprintf("c%d", i)}
	}
	usedSources, usedColumns := make([]bool, len(sources)), make([]bool, len(columns))
	p = &program{e: e}
	var exprs []string
	for _, o := range s.Outputs {
		inputs, used := sources, usedSources
		if o.OverColumns {
			inputs, used = columns, usedColumns
		}
		x, err := translate.NewScalar(o.Text, inputs, translate.ScalarOptions{Want: o.Want, Condition: o.Condition, Unknown: o.Unknown}, &translate.Env{Now: s.Now})
		if err != nil {
			return nil, false, o.Wrap(err)
		}
		exprs = append(exprs, x.SQL)
		p.Types = append(p.Types, x.Type)
		timed = timed || x.Timed
		for _, i := range x.Uses {
			used[i] = true
		}
	}
	p.Sources, p.Columns = indexes(usedSources), indexes(usedColumns)
	if len(p.Sources)+len(p.Columns) == 0 {
		p.Sources = []int{0} // the rows must be counted
	}
	var cols []duck.ColumnDesc
	for _, i := range p.Sources {
		cols = append(cols, duck.ColumnDesc{Name: sources[i].SQL, Type: sources[i].Type})
	}
	for _, i := range p.Columns {
		cols = append(cols, duck.ColumnDesc{Name: columns[i].SQL, Type: columns[i].Type})
	}
	p.prepared, p.Eval = db.Prepare(cols, exprs, p.Types), p.eval
	return p, timed, nil
}

func indexes(used []bool) (out []int) {
	for i, u := range used {
		if u {
			out = append(out, i)
		}
	}
	return out
}

// program is a compiled set of expressions. Requests that wait for it while it
// runs are evaluated together when that run ends: nobody waits for company.
type program struct {
	load.Program
	e        *Expressions
	key      string
	prepared *duck.Prepared

	mu      sync.Mutex
	waiting []*evaluation
	running bool
	// retired programs hold no connection between runs.
	retired bool
}

// evaluation is one request's rows.
type evaluation struct {
	ctx  context.Context
	in   *block.Block
	out  *block.Block
	err  error
	done chan struct{}
}

// retire is called for a program that nobody will find any more; who has it may
// still use it.
func (p *program) retire() {
	p.mu.Lock()
	p.retired = true
	idle := !p.running
	p.mu.Unlock()
	if idle {
		p.prepared.Release()
	}
}

func (p *program) eval(ctx context.Context, in *block.Block) (*block.Block, error) {
	v := &evaluation{ctx: ctx, in: in, done: make(chan struct{})}
	if err := p.join(v); err != nil {
		return nil, err
	}
	select {
	case <-v.done:
		return v.out, v.err
	case <-ctx.Done():
		// The rows are read for some time yet; they are the program's now.
		return nil, context.Cause(ctx)
	}
}

func (p *program) join(v *evaluation) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, v)
	if p.running {
		return nil
	}
	// Close waits for runs, so none may start behind it.
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	if p.e.closed {
		p.waiting = nil
		return stopping()
	}
	p.running = true
	p.e.wg.Go(p.run)
	return nil
}

// maxBatchBytes bounds what is evaluated together.
const maxBatchBytes = 8 << 20

// run evaluates until nobody waits.
func (p *program) run() {
	for {
		batch := p.take()
		if batch == nil {
			return
		}
		p.evaluate(batch)
	}
}

// take is the next requests, in order, that are evaluated together.
func (p *program) take() (batch []*evaluation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rows, bytes, n := 0, 0, 0
	for _, v := range p.waiting {
		rows, bytes = rows+v.in.Rows(), bytes+v.in.Bytes()
		if n > 0 && (rows > load.MaxBatch || bytes > maxBatchBytes) {
			break
		}
		n++
	}
	if n == 0 {
		p.running, p.waiting = false, nil
		if p.retired {
			p.prepared.Release()
		}
		return nil
	}
	batch, p.waiting = p.waiting[:n:n], p.waiting[n:]
	return batch
}

// evaluate runs a batch. If it fails, each request has its own try: it pays for
// its own rows alone.
func (p *program) evaluate(batch []*evaluation) {
	if len(batch) == 1 {
		v := batch[0]
		v.out, v.err = p.attempt(batch, v.in)
		close(v.done)
		return
	}
	all := block.New(batch[0].in.Types())
	for _, v := range batch {
		all.AppendBlock(v.in)
	}
	out, err := p.attempt(batch, all)
	if err != nil {
		for i := range batch {
			p.evaluate(batch[i : i+1])
		}
		return
	}
	from := 0
	for _, v := range batch {
		v.out = out.Slice(from, from+v.in.Rows())
		from += v.in.Rows()
		close(v.done)
	}
}

// attempt runs the engine until the last request of the batch has given up.
func (p *program) attempt(batch []*evaluation, in *block.Block) (*block.Block, error) {
	ctx, cancel := context.WithCancelCause(p.e.life)
	defer cancel(nil)
	left := make(chan struct{}, len(batch))
	for _, v := range batch {
		defer context.AfterFunc(v.ctx, func() {
			if left <- struct{}{}; len(left) == cap(left) {
				cancel(context.Cause(v.ctx))
			}
		})()
	}
	return p.prepared.Run(ctx, in)
}
