package lint

import (
	"slices"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Correction is a finding that can be corrected safely, and how.
type Correction struct {
	diag.Finding
	Edits []jsonc.Edit // of the project's configuration; made whole or not at all
}

// Chosen is what Check says of a project, as files chooses it: Org, Held and Choose count.
// Corrections are those of its findings that Fix could correct alone, and how.
func (f *Files) Chosen(p *devcontainer.Project) (findings []diag.Finding, corrections []Correction) {
	p.Org = f.Org
	v := rule.NewView(p)
	c := newPass(v, table())
	c.held = f.Held
	before := len(f.Findings)
	f.add(c.findings(), v.Root != nil && (v.Sandboxed() || v.Agent()))
	findings = f.Findings[before:]
	c.syntaxFixes()
	for _, r := range c.reports {
		at := slices.IndexFunc(findings, func(f diag.Finding) bool { return samePlace(f, r.Finding) })
		if len(r.edits) > 0 && r.File == p.Config.File && at >= 0 {
			corrections = append(corrections, Correction{findings[at], r.edits})
		}
	}
	return findings, corrections
}

// samePlace compares two findings but for their severity, which a choice can change.
func samePlace(a, b diag.Finding) bool {
	a.Severity = b.Severity
	return a == b
}
