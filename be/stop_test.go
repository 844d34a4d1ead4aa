package be

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b busy
		if left := b.wait(t.Context()); left != 0 {
			t.Errorf("%d at the start", left)
		}
		for i := range 3 {
			b.enter()
			go func() {
				time.Sleep(time.Duration(i+1) * time.Second)
				b.leave()
			}()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if left := b.wait(ctx); left != 2 || b.count() != 2 {
			t.Errorf("%d after 1.5 s, counted %d", left, b.count())
		}
		start := time.Now()
		if left := b.wait(t.Context()); left != 0 || time.Since(start) != 1500*time.Millisecond {
			t.Errorf("%d after %s more", left, time.Since(start))
		}
		b.enter()
		b.leave()
		if left := b.wait(t.Context()); left != 0 {
			t.Errorf("%d at the end", left)
		}
	})
}
