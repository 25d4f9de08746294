// Package budget bounds what it costs to work out a text of somebody else: a
// few hundred bytes of variables, aliases or groups can stand for gigabytes.
//
//	text ─ expansion ─ Spend(cost) ─┬─ true:  go on
//	                                └─ false: leave it as written; Spent says so from then on
package budget

// Budget is an amount of work. The zero value has none left; nil is unlimited.
// It is not safe for concurrent use.
type Budget struct {
	left  int
	spent bool
}

// New returns a budget of units: bytes made, roughly.
func New(units int) *Budget { return &Budget{left: units} }

// Spend takes units and reports whether there were as many. From the first time
// on that there are not, it takes nothing more.
func (b *Budget) Spend(units int) bool {
	if b == nil {
		return true
	}
	if b.spent || units < 0 || units > b.left {
		b.spent = true
		return false
	}
	b.left -= units
	return true
}

// Spent reports whether something was asked for that the budget did not hold.
func (b *Budget) Spent() bool { return b != nil && b.spent }
