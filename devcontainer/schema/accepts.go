package schema

import (
	"maps"
	"slices"
	"strconv"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// Table names the kinds of files that have tables.
type Table int

// The tables.
const (
	ConfigTable Table = iota
	FeatureTable
	TemplateTable
)

// Accepted is what may stand at a place of a file.
type Accepted struct {
	What   string   // in words: "an array of strings"; "" when nothing is known
	Names  []string // of an object's members, sorted
	Values []string // as JSON: texts of a list, true and false
}

// Accepts says what may stand at the end of a path of names and numbers; the
// empty path is the whole file.
func Accepts(table Table, path []string) Accepted {
	s := map[Table]shape{ConfigTable: object(unfinishedKind), FeatureTable: featureShape, TemplateTable: templateShape}[table]
	for _, step := range path {
		_, err := strconv.Atoi(step)
		next, ok := s.props[step]
		switch {
		case ok:
			s = next
		case err == nil && s.items != nil:
			s = *s.items
		case s.rest != nil:
			s = *s.rest
		default:
			return Accepted{}
		}
	}
	out := Accepted{What: s.what, Names: slices.Sorted(maps.Keys(s.props))}
	for _, text := range s.enum {
		out.Values = append(out.Values, jsonc.Quote(text))
	}
	if slices.Contains(s.kinds, jsonc.Bool) {
		out.Values = append(out.Values, "true", "false")
	}
	return out
}
