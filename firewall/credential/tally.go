package credential

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// maxKindsOfUse bounds the kinds of requests with a key that are counted apart. Paths are
// the agent's words.
const maxKindsOfUse = 500

// Tally counts the requests that keys went with. It is safe for concurrent use.
type Tally struct {
	mu   sync.Mutex
	used map[string]map[Requests]int // by key, without their counts
}

// Note counts a request that a key went with, the request's host and what it did.
func (t *Tally) Note(name, host, operation string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used == nil {
		t.used = map[string]map[Requests]int{}
	}
	kinds := t.used[name]
	if kinds == nil {
		kinds = map[Requests]int{}
		t.used[name] = kinds
	}
	kind := Requests{Host: host, Operation: operation}
	if _, known := kinds[kind]; !known && len(kinds) >= maxKindsOfUse {
		kind.Operation = ""
	}
	kinds[kind]++
}

// Uses returns what each of the keys did, in the order of bindings. Operations are as clean returns them.
func (t *Tally) Uses(bindings []Binding, clean func(string) string) (all []Use) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range bindings {
		use := Use{Binding: b}
		for kind, n := range t.used[b.Name] {
			use.Requests = append(use.Requests, Requests{Host: kind.Host, Operation: clean(kind.Operation), Count: n})
		}
		slices.SortFunc(use.Requests, func(a, b Requests) int {
			return cmp.Or(b.Count-a.Count, strings.Compare(a.Host, b.Host), strings.Compare(a.Operation, b.Operation))
		})
		all = append(all, use)
	}
	return all
}
