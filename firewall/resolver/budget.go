package resolver

import (
	"strings"
	"sync"
	"time"
)

// A wildcard lets the sandbox choose the names, and whoever runs the zone's
// name servers can read data from them. Within budgetWindow at most budgetNames
// new names whose chosen part is longer than budgetBytes pass per wildcard:
// some 20 KiB an hour at the very worst, and every one of them is recorded.
const (
	budgetNames  = 100
	budgetBytes  = 40
	budgetWindow = 10 * time.Minute
)

// budget counts data-like names per wildcard. It is safe for concurrent use.
type budget struct {
	now func() time.Time

	mu    sync.Mutex
	rules map[string]map[string]time.Time // rule -> name -> first asked for
}

func newBudget(now func() time.Time) *budget {
	return &budget{now: now, rules: map[string]map[string]time.Time{}}
}

// spend reports whether name may be asked for under rule, the entry that
// allowed it.
func (b *budget) spend(rule, name string) bool {
	star := strings.LastIndex(rule, "*.")
	if star < 0 {
		return true
	}
	zone, _, _ := strings.Cut(rule[star+1:], ":") // ".example.org", without a port
	if len(strings.TrimSuffix(name, zone)) <= budgetBytes {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	names := b.rules[rule]
	if names == nil {
		names = map[string]time.Time{}
		b.rules[rule] = names
	}
	for n, first := range names {
		if now.Sub(first) >= budgetWindow {
			delete(names, n)
		}
	}
	if _, known := names[name]; known {
		return true
	}
	if len(names) >= budgetNames {
		return false
	}
	names[name] = now
	return true
}
