package duck

import (
	"context"
	"time"

	bindings "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// conn is one connection: it serves one query and is closed with it, and its
// TEMP tables and views go with it. It is owned by one goroutine at a time.
type conn struct {
	in    *instance
	raw   mapping.Connection
	files fileOps
}

func (c *conn) close() {
	mapping.Disconnect(&c.raw)
	c.in.release()
}

// interruptEvery is how often a call whose context has ended is told so again:
// DuckDB forgets an interruption that comes between two of its steps.
const interruptEvery = 20 * time.Millisecond

// call runs fn, a call into DuckDB, interrupts it when ctx ends, and waits for
// it in any case. If ctx ended and fn failed, the reason of ctx is the error.
func (c *conn) call(ctx context.Context, fn func() error) error {
	if err := ended(ctx); err != nil {
		return err
	}
	if ctx.Done() == nil {
		return fn()
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		tick := time.NewTicker(interruptEvery)
		defer tick.Stop()
		for {
			mapping.Interrupt(c.raw)
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	err := fn()
	close(done)
	if !stop() {
		<-stopped
	}
	if err != nil {
		if cause := ended(ctx); cause != nil {
			return cause
		}
	}
	return err
}

// exec runs one statement and drops its result.
func (c *conn) exec(ctx context.Context, sql string) error {
	return c.call(ctx, func() error {
		var res mapping.Result
		defer mapping.DestroyResult(&res)
		if mapping.Query(c.raw, sql, &res) == mapping.StateError {
			return &engineError{mapping.ResultError(&res)}
		}
		return nil
	})
}

// query starts one statement whose result is produced while it is fetched, so
// that a large result takes no memory here. The caller destroys the result.
func (c *conn) query(ctx context.Context, sql string) (res mapping.Result, err error) {
	err = c.call(ctx, func() error {
		var stmt mapping.PreparedStatement
		defer mapping.DestroyPrepare(&stmt)
		if mapping.Prepare(c.raw, sql, &stmt) == mapping.StateError {
			return &engineError{mapping.PrepareError(stmt)}
		}
		var pending mapping.PendingResult
		defer mapping.DestroyPending(&pending)
		if bindings.PendingPreparedStreaming(stmt, &pending) == mapping.StateError {
			return &engineError{mapping.PendingError(pending)}
		}
		if mapping.ExecutePending(pending, &res) == mapping.StateError {
			err := &engineError{mapping.ResultError(&res)}
			mapping.DestroyResult(&res)
			return err
		}
		return nil
	})
	return res, err
}

func destroy(res *mapping.Result)           { mapping.DestroyResult(res) }
func destroyChunk(chunk *mapping.DataChunk) { mapping.DestroyDataChunk(chunk) }
