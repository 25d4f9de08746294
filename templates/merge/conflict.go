package merge

import "bytes"

// Conflict is a place that the template and the user changed in different
// ways. Each side is source text; "" means that it is not there.
type Conflict struct {
	Place                string // JSON pointer, or "line N" of the user's text
	Base, Template, Mine string
}

// Side says who wins where both sides changed the same place.
type Side int

// The sides. Neither makes conflicts.
const (
	Neither Side = iota
	Mine
	Template
)

// whole handles the versions that need no look inside. A nil text is a file
// that is not there.
func whole(base, template, mine []byte, prefer Side) (merged []byte, conflicts []Conflict, done bool) {
	same := func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
	switch {
	case same(base, template), same(mine, template):
		return mine, nil, true
	case same(base, mine):
		return template, nil, true
	case mine != nil && template != nil && base != nil:
		return nil, nil, false
	case prefer == Mine:
		return mine, nil, true
	case prefer == Template:
		return template, nil, true
	}
	return mine, []Conflict{{"", string(base), string(template), string(mine)}}, true
}
