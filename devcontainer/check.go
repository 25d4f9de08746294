package devcontainer

import (
	"fmt"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Check judges a project: every rule of the table. Findings are sorted by
// file and position. A configuration that is not well formed gets one finding,
// and the files around it are still looked at.
func Check(p *Project) []diag.Finding {
	c := newPass(p)
	c.run()
	diag.Sort(c.findings)
	return c.findings
}

// pass is one walk of all rules over a project: what several of them need is
// worked out once, and their findings are collected.
type pass struct {
	*Project
	table    map[string]*Rule
	root     *jsonc.Node // of the configuration; nil when it is no object
	args     []runArg
	mounts   []mount
	build    *build // the Dockerfile as it is built; nil without one
	findings []diag.Finding
}

func newPass(p *Project) *pass {
	c := &pass{Project: p, table: table(), root: p.object()}
	c.findings = append(c.findings, p.syntax...)
	c.args = parseRunArgs(c.root.Member("runArgs"))
	c.mounts = c.allMounts()
	c.build = readBuild(p)
	return c
}

func (c *pass) run() {
	if c.root == nil {
		if n := c.Config.Root; n != nil {
			c.at(n, "SBX202", fmt.Sprintf("the file must be an object, not %s", n.Kind), "")
		}
		return
	}
	for _, f := range Families() {
		for i := range f.Rules {
			if check := f.Rules[i].check; check != nil {
				check(c)
			}
		}
	}
}

// at reports a rule at a value of the configuration.
func (c *pass) at(n *jsonc.Node, rule, message, hint string) {
	c.in(c.Config, n.Start, n.End, n.Pointer, rule, message, hint)
}

// name reports a rule at a member's name.
func (c *pass) name(m jsonc.Member, rule, message, hint string) {
	c.in(c.Config, m.NameStart, m.NameEnd, m.Value.Pointer, rule, message, hint)
}

// missing reports that something is not there, at the value that should have
// it, or at the opening bracket of the file.
func (c *pass) missing(n *jsonc.Node, rule, message, hint string) {
	if n == nil || n == c.root {
		start := c.Config.Root.Start
		c.in(c.Config, start, start+1, "", rule, message, hint)
		return
	}
	c.at(n, rule, message, hint)
}

// in reports a rule at the bytes from start to end of any document of the
// project: the configuration, a Dockerfile, a Compose file, a lock.
func (c *pass) in(doc *jsonc.Document, start, end int, pointer, rule, message, hint string) {
	entry := c.table[rule]
	if entry == nil {
		panic("devcontainer: rule " + rule + " is not in the table")
	}
	c.findings = append(c.findings, doc.Finding(start, end, diag.Finding{Rule: rule, Severity: entry.Severity, Pointer: pointer, Message: message, Hint: hint}))
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
