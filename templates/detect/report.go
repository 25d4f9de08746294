package detect

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Report is what a project seems to need.
type Report struct {
	Template Proposal   // Value is "" when nothing speaks for a template
	Presets  []Proposal // well-known lists, in the order found
	Hosts    []Proposal // allowlist entries that only a person may add
	Services []Proposal // such entries for services of the project's Compose file, which have private addresses
	Notes    []Proposal // Value is a sentence for the user
	// Languages are those that the project is written in.
	Languages []Language

	networks map[string]string // of services by name: see NetworkOf
}

// Language is one that a file of the project speaks for, the main one first.
type Language struct {
	Name     string
	File     string   // as Proposal.File
	Template string   // the one that has its tools; "" = none
	Version  Proposal // that the project states; Value is "" if it states none that an image has
	Option   string   // of that template, KEY=VALUE, for this version; "" = the template's own
	Tools    []string // for templates.AddTools, where another template is used; none = hardly used, or they cannot be added
	Packages string   // Debian's with its tools, separated by commas; "" = there are none
}

// Proposal is one thing that a project's file speaks for.
type Proposal struct {
	Value  string
	Reason string // half a sentence
	File   string // slash-separated, relative to the project; as it is, so print it with Where
	Line   int    // 1-based; 0 = the file itself
}

// Where returns the place as "file:line". A file name with characters that a
// terminal would obey is quoted.
func (p Proposal) Where() string {
	name := p.File
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		name = strconv.QuoteToASCII(name)
	}
	if p.Line == 0 {
		return name
	}
	return fmt.Sprintf("%s:%d", name, p.Line)
}

// maxProposals bounds each list: a file with ten thousand addresses must not
// drown the one that matters.
const maxProposals = 24

// add appends p unless its value is there already.
func add(list *[]Proposal, p Proposal) {
	if len(*list) < maxProposals && !slices.ContainsFunc(*list, func(q Proposal) bool { return q.Value == p.Value }) {
		*list = append(*list, p)
	}
}

// Look proposes settings for the project in dir. It changes and runs nothing.
// The error says that dir cannot be read; files in it that cannot are passed
// over.
func Look(dir string) (Report, error) {
	t, err := openTree(dir, knownNames())
	if err != nil {
		return Report{}, err
	}
	defer t.close()
	l := &look{tree: t, places: newPlaces()}
	l.stack()
	l.browsers()
	l.registries()
	l.git()
	l.mcp()
	full, err := filepath.Abs(dir)
	if err != nil {
		return Report{}, err
	}
	l.services(filepath.Base(full))
	l.firewallScripts()
	if t.cut {
		l.report.Notes = append(l.report.Notes, Proposal{Value: "the project is large: only a part of its folders was looked at"})
	}
	slices.SortStableFunc(l.report.Hosts, func(a, b Proposal) int { return cmp.Compare(a.Value, b.Value) })
	return l.report, nil
}

// look collects one report.
type look struct {
	tree   *tree
	places *places
	report Report
}

func (l *look) note(file string, line int, format string, args ...any) {
	add(&l.report.Notes, Proposal{Value: fmt.Sprintf(format, args...), File: file, Line: line})
}
