package resolver

import (
	"strings"
	"sync"
	"time"
)

// A wildcard lets the sandbox choose the names, and whoever runs the zone's name
// servers can read data from the questions that reach them: from the names, and
// from the order in which known ones are asked for again. So questions that go
// upstream are what is counted, per wildcard.
//
// Within budgetWindow at most budgetLong new names whose chosen part is longer
// than budgetBytes pass, and budgetShort others. Questions for names that are
// known by now, of either type, take from a bucket of budgetRepeats, which
// refills at budgetRate.
//
// A long name has room for 249 characters of 38 kinds, 163 bytes; a short one for
// 26 bytes; the order of 600 names in 2 types is 1.3 bytes for each question. So
// ten minutes carry at most 100·163 + 500·26 + 3,000·1.3 bytes, 33 KB, which is
// some 200 KB an hour. No program has been seen to need nearly as many.
const (
	budgetLong    = 100
	budgetShort   = 500
	budgetBytes   = 40
	budgetWindow  = 10 * time.Minute
	budgetRepeats = 600
	budgetRate    = 4 // questions a second
)

// budget counts questions upstream per wildcard. It is safe for concurrent use.
type budget struct {
	now func() time.Time

	mu      sync.Mutex
	spent   map[account]map[string]time.Time // name -> first asked for
	repeats map[string]*bucket               // by rule
}

// account is what new names are counted for.
type account struct {
	rule string
	long bool
}

// bucket holds the questions for known names that may still be asked.
type bucket struct {
	left float64
	at   time.Time
}

// most is how many new names the account has within budgetWindow.
func (a account) most() int {
	if a.long {
		return budgetLong
	}
	return budgetShort
}

func newBudget(now func() time.Time) *budget {
	return &budget{now: now, spent: map[account]map[string]time.Time{}, repeats: map[string]*bucket{}}
}

// spend reports whether a question for name may go upstream under rule, the
// entry that allowed it, and counts it.
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
		return b.spendRepeat(rule, now)
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

// spendRepeat takes a question for a known name from the rule's bucket.
func (b *budget) spendRepeat(rule string, now time.Time) bool {
	k := b.repeats[rule]
	if k == nil {
		k = &bucket{budgetRepeats, now}
		b.repeats[rule] = k
	}
	k.left = min(k.left+now.Sub(k.at).Seconds()*budgetRate, budgetRepeats)
	k.at = now
	if k.left < 1 {
		return false
	}
	k.left--
	return true
}
