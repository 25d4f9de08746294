package resolver

import (
	"strings"
	"sync"
	"time"
)

// A wildcard lets the sandbox choose the names, and whoever runs the zone's name
// servers can read data from them. Within budgetWindow at most budgetLong new
// names whose chosen part is longer than budgetBytes pass per wildcard, and
// budgetShort others: some 200 KiB an hour at the very worst, and every one of
// them is recorded. No program has been seen to need nearly as many.
const (
	budgetLong   = 100
	budgetShort  = 500
	budgetBytes  = 40
	budgetWindow = 10 * time.Minute
)

// budget counts new names per wildcard. It is safe for concurrent use.
type budget struct {
	now func() time.Time

	mu    sync.Mutex
	spent map[account]map[string]time.Time // name -> first asked for
}

// account is what names are counted for.
type account struct {
	rule string
	long bool
}

// most is how many new names the account has within budgetWindow.
func (a account) most() int {
	if a.long {
		return budgetLong
	}
	return budgetShort
}

func newBudget(now func() time.Time) *budget {
	return &budget{now: now, spent: map[account]map[string]time.Time{}}
}

// spend reports whether name may be asked for under rule, the entry that
// allowed it.
func (b *budget) spend(rule, name string) bool {
	star := strings.LastIndex(rule, "*.")
	if star < 0 {
		return true
	}
	zone, _, _ := strings.Cut(rule[star+1:], ":") // ".example.org", without a port
	a := account{rule, len(strings.TrimSuffix(name, zone)) > budgetBytes}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	names := b.spent[a]
	if first, known := names[name]; known && now.Sub(first) < budgetWindow {
		return true
	}
	if names == nil {
		names = map[string]time.Time{}
		b.spent[a] = names
	}
	if len(names) >= a.most() {
		for n, first := range names {
			if now.Sub(first) >= budgetWindow {
				delete(names, n)
			}
		}
	}
	if len(names) >= a.most() {
		return false
	}
	names[name] = now
	return true
}
