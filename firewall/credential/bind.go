package credential

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall/operation"
)

// Binding binds a key to typed entries. It holds no value.
type Binding struct {
	Name string `json:"name"`
	For  string `json:"for"`          // names entries, see operation.Named
	As   string `json:"as,omitempty"` // a form: see Check; "" = the usual one of the entries' kind

	// Entries are those of a policy that For names. Bind finds them.
	Entries []string `json:"entries"`
}

const (
	forHint  = `bind it to an entry such as "git:github.com/acme/app" or "https://api.example.com GET /v1/**"`
	formHint = "accepted: basic, basic:USER, bearer, header:NAME, query:NAME"
)

// CheckFor says what is wrong with the name of entries; "" = nothing is.
func CheckFor(name string) (message, hint string) {
	if p := operation.CheckName(name); p != nil {
		if p.Hint == "" {
			p.Hint = forHint
		}
		return fmt.Sprintf("a key is for operations, and never for a host as a whole: %q: %s", name, p.Message), p.Hint
	}
	return "", ""
}

// CheckForm says what is wrong with a form; "" = nothing is. "basic" has the name of a
// user in the value, as "USER:PASSWORD", or needs none.
func CheckForm(as string) (message, hint string) {
	if _, err := parseForm(as, ""); err != nil {
		return err.Error(), formHint
	}
	return "", ""
}

// Bind finds the entries of each binding in a policy's allowlist. unused are the
// bindings of which it has none. An entry that two keys name is of the one that is for
// less; an error, if neither is. A key for fewer requests comes before one for more.
func Bind(all []Binding, allow []string) (used, unused []Binding, err error) {
	for _, b := range all {
		if message, _ := CheckFor(b.For); message != "" {
			return nil, nil, fmt.Errorf("the key %s: %s", b.Name, message)
		}
		if b.Entries = operation.Named(b.For, allow); len(b.Entries) == 0 {
			unused = append(unused, b)
			continue
		}
		for i := range used {
			if err := share(&used[i], &b); err != nil {
				return nil, nil, err
			}
		}
		wider := slices.IndexFunc(used, func(u Binding) bool { return covers(u.Entries, b.Entries) })
		if wider < 0 {
			wider = len(used)
		}
		used = slices.Insert(used, wider, b)
	}
	for _, b := range used {
		if len(b.Entries) == 0 {
			unused = append(unused, b)
		}
	}
	return slices.DeleteFunc(used, func(b Binding) bool { return len(b.Entries) == 0 }), unused, nil
}

// share gives the entries that both bindings name to the one that is for less.
func share(a, b *Binding) error {
	less := func(one, other *Binding) bool {
		return len(operation.Named(other.For, []string{one.For})) > 0 && len(operation.Named(one.For, []string{other.For})) == 0
	}
	for _, entry := range b.Entries {
		switch {
		case !slices.Contains(a.Entries, entry):
		case less(a, b):
			b.Entries = without(b.Entries, entry)
		case less(b, a):
			a.Entries = without(a.Entries, entry)
		default:
			return fmt.Errorf("the keys %s and %s are both for %q, and a request takes one", a.Name, b.Name, entry)
		}
	}
	return nil
}

func without(list []string, entry string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(e string) bool { return e == entry })
}

// covers reports whether entries allow all that others do.
func covers(entries, others []string) bool {
	r, problems := operation.Compile(entries)
	return len(problems) == 0 && !slices.ContainsFunc(others, func(e string) bool { return !r.Covers(e) })
}

// String says where the key goes.
func (b Binding) String() string {
	return "key " + b.Name + " goes with " + strings.Join(b.Entries, ", ")
}
