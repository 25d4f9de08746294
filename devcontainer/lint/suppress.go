package lint

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// A comment can switch a rule off for the line that it stands on, or for what
// comes below it: the member or element of a JSON file, the instruction of a
// Dockerfile, the line of a Compose file.
//
//	// sbx-ignore SBX408: fetches the toolchain, reviewed in SEC-12
//	"initializeCommand": "make prepare"
//
// A rule is named by its id or its name; a family or a category would excuse findings that come later.
// The reason is mandatory, and a comment that switches nothing off is a finding
// itself: an exception must not outlive what it was made for.
var ignoreComment = lazyregexp.New(`^sbx-ignore\b[ \t]*([A-Za-z0-9, -]*?)[ \t]*(?::[ \t]*(.*))?$`)

// suppression is one such comment.
type suppression struct {
	doc        *jsonc.Document
	start, end int // of the comment
	rules      []string
	reason     string
	fromLine   int // first and last line that it covers
	toLine     int
	used       map[string]bool
}

// maxSuppressions bounds the comments of a project: each is compared with each
// finding, and looks for the value that it is about.
const maxSuppressions = 500

// suppressions returns the comments of all files that were found; not ok when
// there are too many, and then none counts.
func (c *pass) suppressions() (all []*suppression, ok bool) {
	for _, doc := range c.Documents() {
		found, ok := c.ignores[doc]
		if !ok && bytes.Contains(doc.Src, []byte("sbx-ignore")) {
			found = suppressionsOf(doc, maxSuppressions+1-len(all))
			for _, s := range found {
				for i, word := range s.rules {
					s.rules[i] = c.idOf(word)
				}
			}
		}
		c.ignores[doc] = found
		if all = append(all, found...); len(all) > maxSuppressions {
			return nil, false
		}
	}
	return all, true
}

// covered reports whether a comment excuses a finding, and notes which one did.
func (c *pass) covered(all []*suppression, f diag.Finding) bool {
	if c.holds(f.Rule) {
		return false
	}
	return slices.ContainsFunc(all, func(s *suppression) bool { return s.covers(f) })
}

// holds reports whether no comment excuses a rule: it compares with the organisation's
// policy, or that policy holds it.
func (c *pass) holds(id string) bool {
	return c.table.of[id] != nil && c.table.of[id].OfPolicy || c.held != nil && c.held(id)
}

// suppress takes the findings away that comments ask for, and reports comments
// that are wrong or do nothing.
func (c *pass) suppress() {
	all, ok := c.suppressions()
	if !ok {
		c.report(c.table.of["SBX109"], c.AtMissing(nil, fmt.Sprintf("more than %d sbx-ignore comments: none of them counts", maxSuppressions),
			"repair what they hide"))
	}
	c.reports = slices.DeleteFunc(c.reports, func(r report) bool { return c.covered(all, r.Finding) })
	for _, s := range all {
		at := func(message, hint string) rule.Finding {
			return rule.Finding{Place: rights.Place{Doc: s.doc, Start: s.start, End: s.end}, Message: message, Hint: hint}
		}
		form := c.table.of["SBX107"]
		switch {
		case len(s.rules) == 0:
			c.report(form, at("sbx-ignore names no rule", "write sbx-ignore SBX402: reason"))
		case s.reason == "":
			c.report(form, at("sbx-ignore gives no reason", "write sbx-ignore "+s.rules[0]+": reason"))
		default:
			for _, id := range s.rules {
				switch {
				case c.table.of[id] == nil && c.several(id):
					c.report(form, at(fmt.Sprintf("sbx-ignore names several rules with %s: a comment excuses single ones", id),
						"name each rule by its id or name, or use sbx-devc.jsonc: docs/checks.md, Choice of rules"))
				case c.table.of[id] == nil:
					c.report(form, at(fmt.Sprintf("there is no rule %s", id), "sbx-devc rules lists them"))
				case c.holds(id):
					c.report(form, at(fmt.Sprintf("no comment silences %s: the organisation's policy keeps it on", id), "remove the comment"))
				case !s.used[id] && s.doc == c.Config && len(c.Syntax) > 0: // nothing more was looked for
				case !s.used[id]:
					f := at(fmt.Sprintf("there is no finding of %s here", id), "remove the comment")
					if s.doc == c.Config && len(s.used) == 0 {
						f.Edits = c.Config.RemoveComment(s.start, s.end)
					}
					c.report(c.table.of["SBX108"], f)
				}
			}
		}
	}
}

// unsuppressable are the rules about suppression itself.
var unsuppressable = []string{"SBX107", "SBX108"}

func (s *suppression) covers(f diag.Finding) bool {
	inLines := f.File == s.doc.File && s.fromLine <= f.Line && f.Line <= s.toLine
	named := slices.Contains(s.rules, f.Rule) && !slices.Contains(unsuppressable, f.Rule)
	if s.reason == "" || !inLines || !named {
		return false
	}
	s.used[f.Rule] = true
	return true
}

// suppressionsOf finds the first comments of a document, at most so many.
func suppressionsOf(doc *jsonc.Document, most int) []*suppression {
	var out []*suppression
	add := func(start, end int, text string, from, to int) {
		m := ignoreComment.FindStringSubmatch(strings.TrimSpace(text))
		if m == nil {
			return
		}
		rules := strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' })
		out = append(out, &suppression{doc: doc, start: start, end: end, rules: rules, reason: m[2], fromLine: from, toLine: to,
			used: map[string]bool{}})
	}
	if doc.Root != nil {
		for _, comment := range doc.Comments() {
			if len(out) >= most {
				break
			}
			if !bytes.Contains(doc.Src[comment.Start:comment.End], []byte("sbx-ignore")) {
				continue
			}
			from, to := linesBelow(doc, comment)
			text := strings.TrimSuffix(string(doc.Src[comment.Start+2:comment.End]), "*/")
			add(comment.Start, comment.End, text, from, to)
		}
		return out
	}
	lines := bytes.SplitAfter(doc.Src, []byte("\n"))
	offset := 0
	for i, line := range lines {
		if len(out) >= most {
			break
		}
		text := strings.TrimRight(string(line), "\r\n")
		before, after, ok := strings.Cut(text, "#")
		if ok && strings.HasPrefix(strings.TrimSpace(after), "sbx-ignore") {
			from, to := i+1, i+1
			if strings.TrimSpace(before) == "" {
				from, to = below(lines, i)
			}
			add(offset+len(before), offset+len(text), after, from, to)
		}
		offset += len(line)
	}
	return out
}

// idOf is the id of the rule that a word names in letters of any case; another word stays as it is.
func (c *pass) idOf(word string) string {
	if id := strings.ToUpper(word); c.table.of[id] != nil {
		return id
	}
	for id, r := range c.table.of {
		if strings.EqualFold(word, r.Name) {
			return id
		}
	}
	return word
}

// several reports whether a word is one for more than one rule: a family, or a category.
func (c *pass) several(word string) bool {
	for id, r := range c.table.of {
		if strings.EqualFold(word, id[:4]+"xx") || strings.EqualFold(word, string(r.Category)) {
			return true
		}
	}
	return false
}

// linesBelow says which lines a comment of a JSON file is about: its own, when
// something else stands there, or else those of the member, element or value
// that follows.
func linesBelow(doc *jsonc.Document, comment jsonc.Comment) (from, to int) {
	line, _ := doc.Position(comment.Start)
	if doc.Shared(comment.Start) {
		return line, line
	}
	next, start := nextFrom(doc.Root, doc.Root.Start, comment.End)
	if next == nil {
		return line, line
	}
	from, _ = doc.Position(start)
	to, _ = doc.Position(next.End - 1)
	return from, to
}

// nextFrom returns the first member, element or value of n that starts at an offset or
// behind it, and its start; nil when there is none. n itself starts at start.
func nextFrom(n *jsonc.Node, start, offset int) (*jsonc.Node, int) {
	if start >= offset {
		return n, start
	}
	if n.End <= offset {
		return nil, 0
	}
	for _, m := range n.Members {
		if next, at := nextFrom(m.Value, m.NameStart, offset); next != nil {
			return next, at
		}
	}
	for _, e := range n.Elements {
		if next, at := nextFrom(e, e.Start, offset); next != nil {
			return next, at
		}
	}
	return nil, 0
}

// below returns the lines of what follows the comment on line i (from 0):
// further comments are passed over, and lines that go on with a backslash
// belong together.
func below(lines [][]byte, i int) (from, to int) {
	at := i + 1
	for at < len(lines) && (len(bytes.TrimSpace(lines[at])) == 0 || bytes.HasPrefix(bytes.TrimSpace(lines[at]), []byte("#"))) {
		at++
	}
	from = at + 1
	goesOn := func() bool {
		return bytes.HasSuffix(bytes.TrimRight(lines[at], " \t\r\n"), []byte(`\`)) ||
			at+1 > from && bytes.HasPrefix(bytes.TrimSpace(lines[at]), []byte("#"))
	}
	for at < len(lines)-1 && goesOn() {
		at++
	}
	return from, at + 1
}
