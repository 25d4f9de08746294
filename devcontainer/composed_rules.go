package devcontainer

import (
	"fmt"
	"slices"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
)

// inCompose reports a rule at a value of a Compose file, once: extends and
// anchors give one value to several services.
func (c *pass) inCompose(n *compose.Node, rule, message, hint string) *report {
	at := sameFinding{rule, n.Doc.File, n.Start, ""}
	if c.said[at] {
		return &report{} // of no consequence
	}
	c.said[at] = true
	return c.in(n.Doc, n.Start, n.End, "", rule, message, hint)
}

// composeRefused reports files that Compose refuses.
func composeRefused(v *view) (out []finding) {
	if v.composed == nil {
		return nil
	}
	problems := v.composed.project.Problems
	if whole := len(v.Compose) == len(texts(v.root.Member("dockerComposeFile"))); whole {
		problems = slices.Concat(problems, v.composed.project.Refused())
	}
	for _, p := range problems {
		out = append(out, finding{Place: rights.Place{Doc: p.Doc, Start: p.Start, End: p.End}, message: p.Message})
	}
	return out
}

// twiceInCompose reports names that a Compose file gives twice.
func twiceInCompose(v *view) (out []finding) {
	if v.composed == nil {
		return nil
	}
	for _, p := range v.composed.project.Twice {
		out = append(out, finding{Place: rights.Place{Doc: p.Doc, Start: p.Start, End: p.End}, once: true,
			message: p.Message, hint: "Compose 2 refuses the file, older versions take the last one"})
	}
	return out
}

// serviceMissing reports a service that is not in the Compose files.
func serviceMissing(v *view) []finding {
	name := v.root.Member("service")
	service, ok := name.Str()
	if !ok || v.composed == nil || v.composed.service != nil || variable.MatchString(service) {
		return nil
	}
	project := v.composed.project
	if len(project.Problems) > 0 || len(project.Unread) > 0 || len(v.Compose) < len(texts(v.root.Member("dockerComposeFile"))) {
		return nil // it may be in what was not read
	}
	var known []string
	for _, s := range project.Services() {
		known = append(known, s.Name)
	}
	hint := "the Compose files define no services"
	if len(known) > 0 {
		hint = didYouMean(service, known)
	}
	return []finding{v.found(name, fmt.Sprintf("the Compose files have no service %q", service), hint)}
}
