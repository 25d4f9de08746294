package devcontainer

import (
	"fmt"
	"slices"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/schema"
)

// composeRefused reports files that Compose refuses.
func composeRefused(v *view) (out []finding) {
	if v.Composed == nil {
		return nil
	}
	problems := v.Composed.project.Problems
	if whole := len(v.Compose) == len(rights.Texts(v.root.Member("dockerComposeFile"))); whole {
		problems = slices.Concat(problems, v.Composed.project.Refused())
	}
	for _, p := range problems {
		out = append(out, finding{Place: rights.Place{Doc: p.Doc, Start: p.Start, End: p.End}, message: p.Message})
	}
	return out
}

// twiceInCompose reports names that a Compose file gives twice.
func twiceInCompose(v *view) (out []finding) {
	if v.Composed == nil {
		return nil
	}
	for _, p := range v.Composed.project.Twice {
		out = append(out, finding{Place: rights.Place{Doc: p.Doc, Start: p.Start, End: p.End},
			message: p.Message, hint: "Compose 2 refuses the file, older versions take the last one"})
	}
	return out
}

// serviceMissing reports a service that is not in the Compose files.
func serviceMissing(v *view) []finding {
	name := v.root.Member("service")
	service, ok := name.Str()
	if !ok || v.Composed == nil || v.Composed.service != nil || rights.Variable.MatchString(service) {
		return nil
	}
	project := v.Composed.project
	if len(project.Problems) > 0 || len(project.Unread) > 0 || len(v.Compose) < len(rights.Texts(v.root.Member("dockerComposeFile"))) {
		return nil // it may be in what was not read
	}
	var known []string
	for _, s := range project.Services() {
		known = append(known, s.Name)
	}
	hint := "the Compose files define no services"
	if len(known) > 0 {
		hint = schema.DidYouMean(service, known)
	}
	return []finding{v.atValue(name, fmt.Sprintf("the Compose files have no service %q", service), hint)}
}
