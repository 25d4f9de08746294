package obeyed

import (
	_ "embed"
	"path"
	"strings"
)

// Table answers which class a path is of. It is made once and safe for
// concurrent use.
type Table struct {
	names   map[string][]rule // by the last part of the pattern, without wildcards
	globs   []rule            // whose last part has wildcards
	folders map[string][]rule // by the folder's name: everything below it
}

// rule is one pattern of the list.
type rule struct {
	class  Class
	parts  []string // of the pattern, lower case
	atRoot bool     // only at the root of a repository or of the project

	prefix, suffix string // of the last part, around its wildcards: cheaper to compare
}

// rules are the patterns: lines of them below the name of their class.
//
//go:embed rules.txt
var rules string

// NewTable compiles the rules.
func NewTable() *Table {
	t := &Table{names: map[string][]rule{}, folders: map[string][]rule{}}
	var class Class
	for line := range strings.Lines(rules) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if name, heads := strings.CutSuffix(line, ":"); heads {
			_ = class.UnmarshalText([]byte(name)) // a test reads each
			continue
		}
		for pattern := range strings.FieldsSeq(line) {
			t.add(class, strings.ToLower(pattern))
		}
	}
	return t
}

func (t *Table) add(class Class, pattern string) {
	trimmed, atRoot := strings.CutPrefix(pattern, "/")
	trimmed, folder := strings.CutSuffix(trimmed, "/")
	r := rule{class: class, parts: strings.Split(trimmed, "/"), atRoot: atRoot}
	last := r.parts[len(r.parts)-1]
	if first, end := strings.IndexAny(last, "*?["), strings.LastIndexAny(last, "*?]"); first >= 0 {
		r.prefix, r.suffix = last[:first], last[end+1:]
	}
	switch {
	case folder:
		t.folders[last] = append(t.folders[last], r)
	case strings.ContainsAny(last, "*?["):
		t.globs = append(t.globs, r)
	default:
		t.names[last] = append(t.names[last], r)
	}
}

// Class is the greatest class that the rules give to a slash-separated path in
// the project. Names count as the same where Folded is, as on some file systems
// of hosts. isRoot says of a folder, "." for the project's own, whether a
// repository begins there; nil = only the project's own does.
func (t *Table) Class(rel string, isRoot func(dir string) bool) Class {
	parts := strings.Split(rel, "/")
	for i, part := range parts {
		if parts[i] = Folded(part); IsGitName(parts[i]) {
			parts[i] = ".git"
		}
	}
	best := None
	try := func(r rule, end int) {
		if r.class > best && r.matches(parts[:end], rel, isRoot) {
			best = r.class
		}
	}
	for i, part := range parts {
		for _, r := range t.folders[part] {
			try(r, i+1)
		}
	}
	for _, r := range t.names[parts[len(parts)-1]] {
		try(r, len(parts))
	}
	for _, r := range t.globs {
		if name := parts[len(parts)-1]; strings.HasPrefix(name, r.prefix) && strings.HasSuffix(name, r.suffix) {
			try(r, len(parts))
		}
	}
	if best == None && len(parts) > 1 && strings.HasPrefix(parts[0], ".") {
		best = Hidden
	}
	return best
}

// matches compares the rule with the end of a path's parts. rel is the path as
// it is written.
func (r rule) matches(parts []string, rel string, isRoot func(string) bool) bool {
	above := len(parts) - len(r.parts)
	if above < 0 {
		return false
	}
	for i, pattern := range r.parts {
		if ok, err := path.Match(pattern, parts[above+i]); err != nil || !ok {
			return false
		}
	}
	if !r.atRoot || above == 0 {
		return true
	}
	return isRoot != nil && isRoot(strings.Join(strings.Split(rel, "/")[:above], "/"))
}
