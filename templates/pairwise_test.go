package templates_test

import (
	"maps"
	"slices"

	"github.com/org/claude-sandbox/templates"
)

// combinations returns option values such that every two values of two options
// meet in at least one of them. Most defects of a template need no more than
// two options to show, and all combinations would be thousands. The values of
// an option are its enum or its proposals, with the default. The order is the
// same on every call; a template without options has one empty combination.
func combinations(t *templates.Template) []map[string]string {
	names := slices.Sorted(maps.Keys(t.Options))
	values := make([][]string, len(names))
	for i, name := range names {
		values[i] = valuesOf(t.Options[name])
	}
	open := map[pair]bool{}
	for i := range names {
		for j := i + 1; j < len(names); j++ {
			for _, a := range values[i] {
				for _, b := range values[j] {
					open[pair{i, j, a, b}] = true
				}
			}
		}
	}
	var out []map[string]string
	for first := true; first || len(open) > 0; first = false {
		row := fullRow(values, open)
		combination := map[string]string{}
		for i, name := range names {
			combination[name] = row[i]
			for j := i + 1; j < len(names); j++ {
				delete(open, pair{i, j, row[i], row[j]})
			}
		}
		out = append(out, combination)
	}
	return out
}

// pair is the meeting of value a of option i with value b of option j, i < j.
type pair struct {
	i, j int
	a, b string
}

// fullRow chooses a value for each option: it starts from a pair that has not
// met yet, and each further value is one that meets most of the chosen ones
// for the first time.
func fullRow(values [][]string, open map[pair]bool) []string {
	row := make([]string, len(values))
	chosen := make([]bool, len(values))
	if seed, ok := smallest(open); ok {
		row[seed.i], row[seed.j] = seed.a, seed.b
		chosen[seed.i], chosen[seed.j] = true, true
	}
	for i := range values {
		if chosen[i] {
			continue
		}
		best := -1
		for _, v := range values[i] {
			gain := 0
			for j := range values {
				if chosen[j] && open[ordered(i, v, j, row[j])] {
					gain++
				}
			}
			if gain > best {
				best, row[i] = gain, v
			}
		}
		chosen[i] = true
	}
	return row
}

func ordered(i int, a string, j int, b string) pair {
	if i < j {
		return pair{i, j, a, b}
	}
	return pair{j, i, b, a}
}

// smallest makes the choice of the next pair the same on every call.
func smallest(open map[pair]bool) (least pair, ok bool) {
	for p := range open {
		if !ok || p.less(least) {
			least, ok = p, true
		}
	}
	return least, ok
}

func (p pair) less(q pair) bool {
	switch {
	case p.i != q.i:
		return p.i < q.i
	case p.j != q.j:
		return p.j < q.j
	case p.a != q.a:
		return p.a < q.a
	}
	return p.b < q.b
}

// valuesOf are what a template's author thinks of for the option.
func valuesOf(o templates.Option) []string {
	out := append([]string{o.Default}, o.Enum...)
	out = append(out, o.Proposals...)
	slices.Sort(out)
	return slices.Compact(out)
}
