package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"

	"dorisgo/client/bulkload"
)

// loadProgress shows a bar on a terminal, with MB/s and the time to go by bytes
// and rows/s by the server's answers, and prints notes.
type loadProgress struct {
	w            io.Writer
	quiet, debug bool
	every        time.Duration

	// done and rows are of loaded chunks, sent what is under way.
	done, sent, rows atomic.Int64

	mu   sync.Mutex // the bar and w
	bar  *progressbar.ProgressBar
	stop chan struct{}
	wg   sync.WaitGroup
}

// show starts the bar. The total is in bytes, -1 if it is not known.
func (p *loadProgress) show(total int64) {
	p.bar = progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(p.w), progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true),
		progressbar.OptionShowElapsedTimeOnFinish(), progressbar.OptionSetWidth(24), progressbar.OptionThrottle(50*time.Millisecond),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription("loading"),
	)
	p.stop = make(chan struct{})
	p.wg.Go(func() { p.draw(total) })
}

// draw keeps the bar up to date until close.
func (p *loadProgress) draw(total int64) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	rows, at := int64(0), time.Now()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		if since := time.Since(at); since >= p.every {
			now := p.rows.Load()
			p.bar.Describe(fmt.Sprintf("%d rows, %.0f rows/s", now, float64(now-rows)/since.Seconds()))
			rows, at = now, time.Now()
		}
		n := p.done.Load() + p.sent.Load()
		if total >= 0 {
			n = min(n, max(0, total-1)) // the end is shown at the end
		}
		_ = p.bar.Set64(max(0, n)) // a bar that cannot be drawn is no failure of the load
		p.mu.Unlock()
	}
}

// close clears the bar.
func (p *loadProgress) close() {
	if p.bar == nil {
		return
	}
	close(p.stop)
	p.wg.Wait()
	_ = p.bar.Clear()
}

func (p *loadProgress) events() bulkload.Events {
	e := bulkload.Events{
		Sent: func(n int64) { p.sent.Add(n) },
		Done: func(n, rows int64) { p.done.Add(n); p.rows.Add(rows) },
	}
	if !p.quiet {
		e.Note = p.note
	}
	if p.debug {
		e.Chunk = func(name, label string) { p.note(name + ": label " + label) }
	}
	return e
}

func (p *loadProgress) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.w, text)
}
