package exec

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPatience: each statement has insert_timeout at least and a tenth more at
// most, whatever statements came before; one context serves many.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, killQuery := context.WithCancel(t.Context())
		var p patience
		defer p.drop()
		const timeout = 10 * time.Second
		made := map[context.Context]bool{}
		for range 1000 {
			ctx := p.of(conn, timeout, time.Now())
			end, ok := ctx.Deadline()
			if left := time.Until(end); !ok || left < timeout || left > timeout+timeout/10 {
				t.Fatalf("a statement has %v, insert_timeout is %v", left, timeout)
			}
			made[ctx] = true
			time.Sleep(10 * time.Millisecond)
		}
		if len(made) > 11 {
			t.Errorf("1000 statements of 10 s took %d contexts", len(made))
		}

		ctx := p.of(conn, timeout, time.Now())
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("a statement whose time is up ends with %v", ctx.Err())
		}
		if next := p.of(conn, timeout, time.Now()); next.Err() != nil {
			t.Error("the statement after one whose time was up has no time")
		}

		shorter := p.of(conn, time.Second, time.Now())
		if end, _ := shorter.Deadline(); time.Until(end) > 1100*time.Millisecond {
			t.Errorf("after SET insert_timeout = 1 a statement has %v", time.Until(end))
		}
		killQuery()
		if !errors.Is(shorter.Err(), context.Canceled) {
			t.Errorf("a killed statement's context has the error %v", shorter.Err())
		}
		if next := p.of(t.Context(), time.Second, time.Now()); next.Err() != nil {
			t.Error("the statement after a killed one is killed too")
		}
	})
}
