package diag

import (
	"math/rand/v2"
	"testing"
)

// A distance below the bound is the one that a plain recursion finds, also of names that
// are longer than most; others are no less than the bound.
func TestEditDistanceAgreesWithItsDefinition(t *testing.T) {
	var plain func(a, b string) int
	plain = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		x, y := len(a)-1, len(b)-1
		if a[x] == b[y] {
			return plain(a[:x], b[:y])
		}
		d := 1 + min(plain(a[:x], b), plain(a, b[:y]), plain(a[:x], b[:y]))
		if x > 0 && y > 0 && a[x] == b[y-1] && a[x-1] == b[y] {
			d = min(d, 1+plain(a[:x-1], b[:y-1]))
		}
		return d
	}
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		w := make([]byte, random.IntN(7))
		for i := range w {
			w[i] = "abc"[random.IntN(3)]
		}
		return string(w)
	}
	long := "0123456789012345678901234567890123456789012345678901234567890123456789"
	for range 3000 {
		a, b := word(), word()
		want := plain(a, b)
		if got := editDistance(long+a, long+b, 1000); got != want {
			t.Fatalf("%q, %q: %d, want %d", a, b, got, want)
		}
		for most := range 8 {
			if got := editDistance(a, b, most); got != want && (got < most || want < most) {
				t.Fatalf("%q, %q: %d, want %d, or %d and more", a, b, got, want, most)
			}
		}
	}
}
