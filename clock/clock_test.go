package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestOffset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		start := time.Now()
		if !c.Now().Equal(start) || c.NowMs() != start.UnixMilli() {
			t.Fatal("the zero clock is not the system's")
		}
		c.SetOffset(-time.Hour)
		if got := c.Now(); !got.Equal(start.Add(-time.Hour)) || c.Offset() != -time.Hour {
			t.Fatalf("moved clock shows %v", got)
		}
		if d := c.Now().Sub(start); d != -time.Hour {
			t.Fatalf("the jump is hidden: %v", d)
		}
		c.SetOffset(0)
		if !c.Now().Equal(start) {
			t.Fatal("moving back did not")
		}
	})
}
