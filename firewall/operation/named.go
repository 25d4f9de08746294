package operation

import (
	"strings"
)

// Named returns those of the typed entries that name names: all that allow no more than
// it, or, when it is no more than "KIND:TARGET", all that are about this target.
func Named(name string, entries []string) (found []string) {
	want := parseEntry(name)
	rules, _ := Compile([]string{name})
	for _, text := range entries {
		if !Typed(text) {
			continue
		}
		e := parseEntry(text)
		if len(want.words) == 0 && e.kind == want.kind && e.target == want.target || rules.Covers(text) {
			found = append(found, text)
		}
	}
	return found
}

// CheckName says why no typed entry can be one that name names; nil = one can.
func CheckName(name string) *Problem {
	k, rest, ok := cutKind(name)
	if !ok || isPort(rest) {
		return &Problem{Message: "it names no entry about operations"}
	}
	var first *Problem
	for _, words := range nameWords(k, name) {
		_, problems := Compile([]string{strings.TrimSpace(name) + words})
		if len(problems) == 0 {
			return nil
		}
		if first == nil {
			first = &problems[0]
		}
	}
	return first
}

// nameWords are what a name without operations is tried with, so that its target is read.
func nameWords(k kind, name string) []string {
	switch {
	case len(parseEntry(name).words) > 0:
		return []string{""}
	case k.word == "https":
		return []string{" GET /**"}
	}
	return []string{"", " read"}
}
