package devcontainer

import (
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Context is what lies around a devcontainer.json. The zero value means that
// nothing is known, as for a file from standard input.
type Context struct {
	// Settings is true when a sandbox.jsonc lies beside the file.
	Settings bool
	// Dockerfile is the text of the Dockerfile that build.dockerfile names; ""
	// when there is none.
	Dockerfile string
	// InFolder is true when the file lies in .devcontainer, false for a
	// .devcontainer.json in the project's folder.
	InFolder bool
	// GitHere is true when the project's folder holds a .git folder, GitAbove
	// when only a folder above does.
	GitHere, GitAbove bool
}

// Check judges the devcontainer.json in src; file is only quoted. Findings are
// sorted by position. A file that is not well formed gets one finding.
func Check(file string, src []byte, ctx Context) []diag.Finding {
	doc, findings := jsonc.Parse(file, src)
	if doc == nil {
		return findings
	}
	c := &checker{doc: doc, root: doc.Root, ctx: ctx, findings: findings}
	c.schema()
	if doc.Root.Kind == jsonc.Object {
		c.args = parseRunArgs(doc.Root.Member("runArgs"))
		c.mounts = c.allMounts()
		c.reference()
		c.host()
		c.secrets()
		if c.sandboxed() {
			c.contract()
		}
	}
	diag.Sort(c.findings)
	return c.findings
}

type checker struct {
	doc      *jsonc.Document
	root     *jsonc.Node
	ctx      Context
	args     []runArg
	mounts   []mount
	findings []diag.Finding
}

// at reports a rule at a value.
func (c *checker) at(n *jsonc.Node, rule, message, hint string) {
	c.findings = append(c.findings, c.doc.AtNode(n, diag.Finding{Rule: rule, Severity: severityOf(rule), Message: message, Hint: hint}))
}

// name reports a rule at a member's name.
func (c *checker) name(m jsonc.Member, rule, message, hint string) {
	c.findings = append(c.findings, c.doc.AtName(m, diag.Finding{Rule: rule, Severity: severityOf(rule), Message: message, Hint: hint}))
}

// missing reports that something is not there, at the value that should have
// it, or at the opening bracket of the file.
func (c *checker) missing(n *jsonc.Node, rule, message, hint string) {
	if n == nil || n == c.root {
		f := diag.Finding{Rule: rule, Severity: severityOf(rule), Message: message, Hint: hint}
		c.findings = append(c.findings, c.doc.Finding(c.root.Start, c.root.Start+1, f))
		return
	}
	c.at(n, rule, message, hint)
}

// texts returns the string elements of an array, or n itself when it is a
// single string where a list belongs.
func texts(n *jsonc.Node) []*jsonc.Node {
	if n == nil {
		return nil
	}
	if n.Kind == jsonc.String {
		return []*jsonc.Node{n}
	}
	var out []*jsonc.Node
	for _, e := range n.Elements {
		if e.Kind == jsonc.String {
			out = append(out, e)
		}
	}
	return out
}

// elements returns the elements of an array, or nothing.
func elements(n *jsonc.Node) []*jsonc.Node {
	if n == nil {
		return nil
	}
	return n.Elements
}
