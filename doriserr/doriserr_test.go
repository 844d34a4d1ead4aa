package doriserr

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestEveryKindHasARow(t *testing.T) {
	names := map[string]Kind{}
	for k := Internal; k <= FewReplicas; k++ {
		r, ok := table[k]
		if !ok {
			t.Errorf("kind %d has no row", k)
			continue
		}
		if r.code == 0 || len(r.state) != 5 || r.load == "" || r.name == "" {
			t.Errorf("kind %s: row is incomplete: %+v", k, r)
		}
		if other, ok := names[r.name]; ok {
			t.Errorf("kinds %d and %d share the name %q", other, k, r.name)
		}
		names[r.name] = k
	}
	if len(table) != int(FewReplicas)+1 {
		t.Errorf("the table has %d rows, want %d", len(table), FewReplicas+1)
	}
}

func TestStatusRoundTrip(t *testing.T) {
	for k := range table {
		in := fmt.Errorf("while asking: %w", New(k, "text of %s", k))
		out := FromStatus(ToStatus(in))
		if KindOf(out) != k {
			t.Errorf("kind %s came back as %s", k, KindOf(out))
		}
		if out.Error() != in.Error() {
			t.Errorf("text %q came back as %q", in, out)
		}
	}
}

func TestPlaceTravels(t *testing.T) {
	want := Place{BackendID: 10003, TabletID: 1<<62 + 1}
	in := fmt.Errorf("while asking: %w", At(New(VersionGone, "gone"), want))
	out := FromStatus(ToStatus(in))
	if got, ok := PlaceOf(out); !ok || got != want || KindOf(out) != VersionGone || out.Error() != in.Error() {
		t.Errorf("%v at %v, want %v at %v", out, got, in, want)
	}
	// Whoever passes an error on knows less of where it was.
	if got, _ := PlaceOf(At(out, Place{BackendID: 1})); got != want {
		t.Errorf("the place became %v", got)
	}
	if err := At(context.DeadlineExceeded, want); !errors.Is(FromStatus(ToStatus(err)), context.DeadlineExceeded) {
		t.Error("a deadline with a place is none any more")
	}
	if _, ok := PlaceOf(FromStatus(ToStatus(New(Corrupt, "x")))); ok || At(nil, want) != nil {
		t.Error("a place out of nothing")
	}
}

func TestTransportErrorsAreUnknown(t *testing.T) {
	for _, c := range []codes.Code{codes.Unavailable, codes.Internal, codes.ResourceExhausted, codes.Aborted} {
		err := FromStatus(status.Error(c, "connection reset"))
		if !Is(err, Unknown) {
			t.Errorf("%s became %s, want unknown", c, KindOf(err))
		}
	}
	if err := FromStatus(ToStatus(context.DeadlineExceeded)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a deadline came back as %v", err)
	}
}

func TestWrapKeepsTheCause(t *testing.T) {
	cause := errors.New("disk gone")
	err := Wrap(Corrupt, cause, "cannot read %q", "x")
	if !errors.Is(err, cause) || err.Error() != `cannot read "x": disk gone` {
		t.Errorf("got %q", err)
	}
	if KindOf(cause) != Internal || Is(nil, Internal) {
		t.Error("kinds of foreign errors")
	}
}
