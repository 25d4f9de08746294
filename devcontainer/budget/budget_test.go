package budget_test

import (
	"math"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/budget"
)

func TestSpend(t *testing.T) {
	b := budget.New(10)
	if !b.Spend(10) || b.Spent() {
		t.Error("the budget held ten")
	}
	if b.Spend(1) || !b.Spent() || b.Spend(0) {
		t.Error("nothing is left, from then on")
	}
	if budget.New(10).Spend(math.MinInt) {
		t.Error("a cost that overflowed was paid")
	}
	if none := (*budget.Budget)(nil); !none.Spend(math.MaxInt) || none.Spent() {
		t.Error("nil is unlimited")
	}
}
