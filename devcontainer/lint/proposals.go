package lint

import (
	"bytes"
	"slices"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Proposal is a change of devcontainer.json that corrects a finding.
type Proposal struct {
	diag.Finding
	Edits []jsonc.Edit // made whole or not at all; none until the digest of Image is known
	Safe  bool         // Fix makes it by itself; otherwise a person has to want what it does
	Costs              // Safe has none
	Image string       // to be pinned by Pinned; "" = nothing is to be looked up
}

// Pinned is the proposal to name Image by a digest, such as "sha256:…".
func (p Proposal) Pinned(doc *jsonc.Document, digest string) Proposal {
	start, end := doc.Offset(p.Line, p.Column), doc.Offset(p.EndLine, p.EndColumn)
	p.Edits = []jsonc.Edit{{Start: start, End: end, Text: jsonc.Quote(p.Image + "@" + digest)}}
	return p
}

// Proposals are the changes of the project's devcontainer.json that would correct findings, in the
// order of their places: those that Fix makes, and those that only a person can want, such as a
// name that was probably meant. Notes are among them. rules and choose limit them as those of Fix.
func Proposals(p *devcontainer.Project, rules []string, choose Choose) (out []Proposal) {
	c := newPass(rule.NewView(p), table())
	c.run()
	c.suppress()
	c.syntaxFixes()
	var asked []report
	for _, r := range c.reports {
		wanted := r.File == p.Config.File && (len(rules) == 0 || slices.Contains(rules, r.Rule))
		if choose != nil && wanted {
			_, wanted = choose(r.Finding, true)
		}
		if wanted {
			asked = append(asked, r)
		}
	}
	for _, of := range newComparer(c.table, p, choose).proposals(asked) {
		if of.Image != "" || changes(p, of.Edits) {
			out = append(out, of)
		}
	}
	slices.SortStableFunc(out, func(a, b Proposal) int { return diag.Compare(a.Finding, b.Finding) })
	return out
}

// proposals are the changes that correct reports, one for each; without edits and image where there is none.
func (x *comparer) proposals(of []report) []Proposal {
	out := make([]Proposal, len(of))
	var corrections []report
	for _, r := range of {
		if len(r.edits) > 0 {
			corrections = append(corrections, r)
		}
	}
	costs, known := x.costs(corrections)
	for i, r := range of {
		if len(r.edits) == 0 {
			out[i] = Proposal{Finding: r.Finding, Edits: r.offer.Edits, Image: r.offer.Image}
			out[i].Comments = x.lost(r.offer.Edits, r)
			continue
		}
		out[i] = Proposal{Finding: r.Finding, Edits: r.edits, Safe: known[0] && costs[0].Text() == "", Costs: costs[0]}
		costs, known = costs[1:], known[1:]
	}
	return out
}

// changes reports whether edits can be made, and leave a text that parses if it parsed before.
func changes(p *devcontainer.Project, edits []jsonc.Edit) bool {
	after, _ := jsonc.Apply(p.Config.Src, edits)
	if bytes.Equal(after, p.Config.Src) {
		return false
	}
	doc, _ := jsonc.Parse(p.Config.File, after)
	return p.Config.Root == nil || doc != nil
}

// Chosen is what Check says of a project, as files chooses it: Org, Held and Choose count.
// Corrections are the changes that would correct those findings and need no look into a registry.
func (f *Files) Chosen(p *devcontainer.Project) (findings []diag.Finding, corrections []Proposal) {
	p.Org = f.Org
	v := rule.NewView(p)
	c := newPass(v, table())
	c.held, c.lessens = f.Held, f.Lessens
	before := len(f.Findings)
	f.add(c.findings(), v.Root != nil && (v.Sandboxed() || v.Agent()))
	findings = f.Findings[before:]
	places := map[diag.Finding]int{} // in findings, but for the severity, which a choice can change
	for n, found := range slices.Backward(findings) {
		found.Severity = ""
		places[found] = n
	}
	c.syntaxFixes()
	var asked []report
	var shown []diag.Finding // as they are chosen
	for _, r := range c.reports {
		place := r.Finding
		place.Severity = ""
		if at, ok := places[place]; ok && r.File == p.Config.File && (len(r.edits) > 0 || len(r.offer.Edits) > 0) {
			asked, shown = append(asked, r), append(shown, findings[at])
		}
	}
	x := newComparer(c.table, p, func(found diag.Finding, _ bool) (diag.Finding, bool) {
		return found, f.Lessens == nil || !f.Lessens(found)
	})
	for i, of := range x.proposals(asked) {
		of.Finding = shown[i]
		corrections = append(corrections, of)
	}
	return findings, corrections
}
