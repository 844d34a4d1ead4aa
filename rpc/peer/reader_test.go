package peer

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
)

// TestALongWaitDoesNotStopAStream: while a handler waits for a disk, the next
// frames are handled and answered; afterwards its own loads are.
func TestALongWaitDoesNotStopAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := make(chan struct{})
		var mu sync.Mutex
		handlers, most := 0, 0
		c, srv := serve(t, func(l *Loads) {
			mu.Lock()
			handlers++
			most = max(most, handlers)
			mu.Unlock()
			if l.Items[0].TableId == 1 {
				<-disk
			}
			for _, it := range l.Items {
				l.ReplyNow(&bepb.LoadReply{Seq: it.Seq, TxnId: it.TableId})
			}
			mu.Lock()
			handlers--
			mu.Unlock()
		})
		send := func(table int64) chan error {
			done := make(chan error, 1)
			go func() {
				_, err := c.Send(t.Context(), &bepb.LoadItem{TableId: table})
				done <- err
			}()
			return done
		}
		synctest.Wait()
		var slow []chan error
		for range 3 { // each of them takes the stream's reader with it
			slow = append(slow, send(1))
			synctest.Wait()
			began := time.Now()
			for range 20 {
				if err := <-send(2); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(began); took > 3*readerPatience {
				t.Errorf("20 loads took %v beside one that waits", took)
			}
		}
		close(disk)
		for _, done := range slow {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if most != 4 {
			t.Errorf("%d handlers at once, want the 3 that wait and one more", most)
		}
		// A while without loads, then one that waits until the server is gone.
		time.Sleep(time.Minute)
		disk = make(chan struct{})
		last := send(1)
		synctest.Wait()
		srv.Stop() // must not wait for the disk
		if err := <-last; !doriserr.Is(err, doriserr.Unknown) {
			t.Errorf("a load whose backend stopped: %v", err)
		}
		close(disk)
	})
}

// TestOnlyOneReads: whatever the work's times, the right to read is one
// goroutine's at any time, and it is never lost.
func TestOnlyOneReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := []time.Duration{
			0, time.Millisecond, readerPatience - 1, readerPatience, readerPatience + 1, 2*readerPatience - 1,
			2 * readerPatience, 2*readerPatience + 1, 5 * readerPatience, time.Second, time.Minute,
		}
		r := newReader()
		const frames = 1000
		var mu sync.Mutex
		next, readers := 0, 0
		ended := make(chan struct{})
		r.read = func() {
			mu.Lock()
			readers++
			if readers != 1 {
				t.Errorf("%d read", readers)
			}
			mu.Unlock()
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= frames {
					r.stop()
					close(ended)
					return
				}
				time.Sleep(waits[i*7%len(waits)] / 3) // until the next frame comes
				began := time.Now()
				mine := r.work(func() {
					mu.Lock()
					readers-- // another one may begin
					mu.Unlock()
					time.Sleep(waits[i*i%len(waits)])
				})
				took := time.Since(began)
				if !mine {
					if took < readerPatience {
						t.Errorf("the right was lost after %v", took)
					}
					return
				}
				if took > 2*readerPatience {
					t.Errorf("the right was kept for %v", took)
				}
				mu.Lock()
				readers++
				mu.Unlock()
			}
		}
		go r.read()
		<-ended
		time.Sleep(time.Hour) // those that lost the right end
	})
}
