package selection

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/pathglob"
)

// Selection is what a project's file says about the rules.
type Selection struct {
	File     string        // as errors quote it; "" = there is none, and the defaults hold
	FailOn   diag.Severity // "" = it does not say
	Policy   string        // of an organisation: a file from Root, or a name in a registry; "" = none
	Baseline string        // file from Root; "" = it does not say
	Root     string        // absolute folder that its paths start at

	levels    map[string]level // of every rule, by id
	overrides []override
	exclude   []string
}

// level says what becomes of a rule's findings: a severity that all of them get, or
// one of the words below.
type level string

const (
	on     level = "on"  // as severe as the rule says
	off    level = "off" // not shown
	advice level = ""    // as severe as the rule says where an agent is at work; elsewhere a warning is a note
)

// override changes the levels of some rules for some files.
type override struct {
	files  []string
	levels map[string]level
}

// Default is the selection without a file. Its paths start at root.
func Default(root string) *Selection {
	return &Selection{Root: root, levels: profileLevels("recommended")}
}

// profileLevels returns the level of every rule in a profile.
func profileLevels(profile string) map[string]level {
	levels := map[string]level{}
	for _, r := range lint.Rules() {
		switch {
		case profile == "strict" || r.Category == rule.Correctness:
			levels[r.ID] = on
		case profile == "correctness":
			levels[r.ID] = off
		default:
			levels[r.ID] = advice
		}
	}
	return levels
}

// defaultLevel is the level of a rule where no file says anything.
func defaultLevel(id string) level {
	if r, ok := lint.LookupRule(id); ok && r.Category != rule.Correctness {
		return advice
	}
	return on
}

// bySpecificity sorts the words of one list so that the more specific ones come last, and win:
// categories, families, rules. Words of the same kind stay in their order.
func bySpecificity(words []jsonc.Member) []jsonc.Member {
	rank := func(m jsonc.Member) int {
		switch ids := RulesOf(m.Name); {
		case slices.ContainsFunc(rule.Categories, func(c rule.Category) bool { return strings.EqualFold(m.Name, string(c)) }):
			return 0
		case len(ids) > 1:
			return 1
		}
		return 2
	}
	sorted := slices.Clone(words)
	slices.SortStableFunc(sorted, func(a, b jsonc.Member) int { return rank(a) - rank(b) })
	return sorted
}

// RulesOf returns the ids of the rules that a word names: an id, a name, a family such as
// SBX4xx or a category; none for any other word.
func RulesOf(word string) (ids []string) {
	for _, r := range lint.Rules() {
		if strings.EqualFold(word, r.ID) || strings.EqualFold(word, r.Name) || strings.EqualFold(word, r.ID[:4]+"xx") ||
			strings.EqualFold(word, string(r.Category)) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// Words are the words that RulesOf knows.
func Words() (words []string) {
	for _, c := range rule.Categories {
		words = append(words, string(c))
	}
	for _, f := range lint.Families() {
		words = append(words, fmt.Sprintf("SBX%cxx", f.Digit))
	}
	for _, r := range lint.Rules() {
		words = append(words, r.ID, r.Name)
	}
	return words
}

// Parse reads the section of a document at a pointer (RFC 6901). Its paths start at root.
// It is nil when a finding is an error; a section that is not there says nothing.
func Parse(doc *jsonc.Document, pointer, root string) (*Selection, []diag.Finding) {
	p := parser{doc: doc}
	section := doc.Root.Find(pointer)
	switch {
	case pointer == "/validate":
		p.mismatches(schema.Tool(doc))
	case section != nil:
		p.mismatches(schema.Choice(doc, section))
	default:
		p.add(doc.Root.Start, doc.Root.Start+1, fmt.Sprintf("there is no %s", pointer), "")
	}
	if len(p.findings) > 0 {
		return nil, p.findings
	}
	s := &Selection{File: doc.File, Root: root, FailOn: diag.Severity(section.Member("failOn").TextOr("")),
		Policy: section.Member("policy").TextOr(""), Baseline: section.Member("baseline").TextOr(""),
		levels: profileLevels(section.Member("profile").TextOr("recommended"))}
	for _, list := range []*jsonc.Node{section.Member("categories"), section.Member("rules")} {
		p.levels(s.levels, list)
	}
	s.exclude = p.globs(section.Member("exclude"))
	if overrides := section.Member("overrides"); overrides != nil {
		for _, n := range overrides.Elements {
			o := override{files: p.globs(n.Member("files")), levels: map[string]level{}}
			p.levels(o.levels, n.Member("rules"))
			s.overrides = append(s.overrides, o)
		}
	}
	if n := section.Member("baseline"); n != nil && !filepath.IsLocal(filepath.FromSlash(n.Text)) {
		p.add(n.Start, n.End, "the baseline lies outside the folder of this file", "")
	}
	if len(p.findings) > 0 {
		return nil, p.findings
	}
	return s, nil
}

// parser collects what is wrong with a document.
type parser struct {
	doc      *jsonc.Document
	findings []diag.Finding
}

func (p *parser) add(start, end int, message, hint string) {
	p.findings = append(p.findings, p.doc.Finding(start, end, diag.Finding{Rule: "SBX203", Severity: diag.SeverityError, Message: message,
		Hint: hint}))
}

func (p *parser) mismatches(found []schema.Mismatch) {
	for _, m := range found {
		p.findings = append(p.findings, p.doc.Finding(m.Start, m.End, diag.Finding{Rule: m.Rule, Severity: diag.SeverityError,
			Pointer: m.Pointer, Message: m.Message, Hint: m.Hint}))
	}
}

// levels reads an object of rule words and levels into out.
func (p *parser) levels(out map[string]level, n *jsonc.Node) {
	for _, m := range bySpecificity(n.Fields()) {
		ids := RulesOf(m.Name)
		if ids == nil {
			p.add(m.NameStart, m.NameEnd, fmt.Sprintf("there is no rule %q", m.Name), unknownHint(m.Name))
		}
		for _, id := range ids {
			out[id] = level(m.Value.Text)
		}
	}
}

// unknownHint helps with a word that names no rule.
func unknownHint(word string) string {
	if best := diag.Suggest(word, Words()); best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return "'sbx-devc rules' lists them; a family such as SBX4xx and a category are rules, too"
}

func (p *parser) globs(n *jsonc.Node) (globs []string) {
	if n == nil {
		return nil
	}
	for _, e := range n.Elements {
		glob := strings.TrimPrefix(strings.Trim(e.Text, "/"), "./")
		if glob == "." {
			glob = "**" // the whole folder
		}
		if pathglob.Check(glob) != nil {
			p.add(e.Start, e.End, fmt.Sprintf("%q names no path", e.Text), "write it like examples, src/* or **/test")
		}
		globs = append(globs, glob)
	}
	return globs
}

// named reports whether a glob names a file, or a folder above it.
func named(globs []string, file string) bool {
	for ; file != "."; file = filepath.ToSlash(filepath.Dir(filepath.FromSlash(file))) {
		if pathglob.MatchAny(globs, file) {
			return true
		}
		if !strings.Contains(file, "/") {
			return false
		}
	}
	return false
}

// relative names a file from Root, with slashes; false when it lies elsewhere.
func (s *Selection) relative(file string) (string, bool) {
	full, err := filepath.Abs(file)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(s.Root, full)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}

// level returns what becomes of a finding by the project's file.
func (s *Selection) level(f diag.Finding) level {
	l, known := s.levels[f.Rule]
	if !known {
		l = on
	}
	if s.exclude == nil && s.overrides == nil {
		return l
	}
	file, ok := s.relative(f.File)
	if !ok {
		return l
	}
	for _, o := range s.overrides {
		if changed, ok := o.levels[f.Rule]; ok && named(o.files, file) {
			l = changed
		}
	}
	if named(s.exclude, file) {
		return off
	}
	return l
}

// severities from the least to the worst.
var severities = []diag.Severity{diag.SeverityNote, diag.SeverityWarning, diag.SeverityError}

// worse returns the worse of two severities.
func worse(a, b diag.Severity) diag.Severity {
	return severities[max(slices.Index(severities, a), slices.Index(severities, b))]
}
