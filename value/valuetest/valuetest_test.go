package valuetest_test

import (
	"testing"

	"dorisgo/value"
	"dorisgo/value/valuetest"
)

// TestEveryKind guards the promise that each kind has cases, among them its
// limits by Want.
func TestEveryKind(t *testing.T) {
	kinds := map[value.Kind]int{}
	for _, c := range valuetest.Limits() {
		kinds[c.Type.Kind]++
	}
	for k := value.Boolean; k <= value.JSON; k++ {
		if kinds[k] < 3 {
			t.Errorf("%s has %d cases", value.Type{Kind: k}, kinds[k])
		}
	}
	seen := map[value.Type]bool{}
	for _, ty := range valuetest.Types() {
		if seen[ty] {
			t.Errorf("%s twice", ty)
		}
		seen[ty] = true
	}
}
