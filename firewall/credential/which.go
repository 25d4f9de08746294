package credential

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall/operation"
)

// bound is a binding with its entries understood.
type bound struct {
	Binding
	rules *operation.Rules
}

func (b Binding) compile() (bound, error) {
	rules, problems := operation.Compile(b.Entries)
	if len(problems) > 0 || len(b.Entries) == 0 {
		return bound{}, fmt.Errorf("the key %s is for no entry of the policy", b.Name)
	}
	return bound{b, rules}, nil
}

// goesWith reports whether the key goes with a request, and the decision of its entries.
// A WebSocket gets none: its messages could not be searched for the key.
func (b *bound) goesWith(m *operation.Memory, req *operation.Request, body *operation.Body) (operation.Decision, bool) {
	if req.Method == operation.WebSocket || !b.rules.Opens(req.Host, req.Port) {
		return operation.Decision{}, false
	}
	d := b.rules.Decide(m, req, body)
	return d, d.Allowed && !d.Keyless
}

// Which returns the binding, of those that Bind returned, whose key goes with a request
// without a body; ok is false when none does.
func Which(used []Binding, req *operation.Request) (b Binding, ok bool) {
	for _, one := range used {
		if c, err := one.compile(); err == nil {
			if _, ok := c.goesWith(operation.NewMemory(), req, operation.NewBody(strings.NewReader(""))); ok {
				return one, true
			}
		}
	}
	return Binding{}, false
}

// WhichOf returns the bindings, of those that Bind returned, whose keys go with requests
// that a typed entry allows. whole says that the first one goes with all of them.
func WhichOf(used []Binding, entry string) (found []Binding, whole bool) {
	asked, problems := operation.Compile([]string{entry})
	if len(problems) > 0 {
		return nil, false
	}
	for _, b := range used {
		switch {
		case covers(b.Entries, []string{entry}):
			return []Binding{b}, true
		case slices.ContainsFunc(b.Entries, asked.Covers):
			found = append(found, b)
		}
	}
	return found, false
}

// At reports whether the key may go to a host, by its canonical name.
func (b Binding) At(host string, port uint16) bool {
	c, err := b.compile()
	return err == nil && c.rules.Opens(host, port)
}

// Use is what a key did in a run.
type Use struct {
	Binding
	Requests []Requests `json:"requests,omitempty"` // that the key went with, the most first
}

// Requests are those of one kind to one host.
type Requests struct {
	Host      string `json:"host"`
	Operation string `json:"operation"` // such as "git push acme/app refs/heads/main"; "" = of many kinds
	Count     int    `json:"count"`
}
