package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// composeRefused reports files that Compose refuses.
func composeRefused(v *rule.View) (out []rule.Finding) {
	if v.Composed == nil {
		return nil
	}
	problems := v.Composed.Project.Problems
	whole := len(v.Compose) == len(rights.Texts(v.Root.Member("dockerComposeFile"))) && len(problems)+len(v.Composed.Project.Unread) == 0
	if whole {
		problems = slices.Concat(problems, v.Composed.Project.Refused(), v.Composed.Project.Failing())
	}
	for _, p := range problems {
		out = append(out, rule.Finding{Place: rights.Place{Doc: p.Doc, Start: p.Start, End: p.End}, Message: p.Message})
	}
	if whole && len(out) == 0 {
		return switchedOff(v)
	}
	return out
}

// switchedOff reports services that others wait for and that a profile keeps from starting, which Compose refuses. A .env may
// choose profiles, and runServices may name the service.
func switchedOff(v *rule.View) (out []rule.Finding) {
	project := v.Composed.Project
	env := v.Readable(path.Join(path.Dir(v.Composed.First), ".env"))
	if env != nil && strings.Contains(string(env.Src), "COMPOSE_PROFILES") {
		return nil
	}
	named := map[string]bool{v.Root.Member("service").TextOr(""): true}
	for _, n := range rights.Texts(v.Root.Member("runServices")) {
		named[n.Text] = true
	}
	for name := range named {
		if s := project.Service(name); s != nil && s.Get("profiles") != nil {
			return nil // which its name switches on, with its profiles
		}
	}
	for _, p := range project.SwitchedOff() {
		out = append(out, rule.Finding{Place: rights.Place{Doc: p.Doc, Start: p.Start, End: p.End}, Message: p.Message,
			Hint: "take its profiles out, or write required: false"})
	}
	return out
}

// twiceInCompose reports names that a Compose file gives twice.
func twiceInCompose(v *rule.View) (out []rule.Finding) {
	if v.Composed == nil {
		return nil
	}
	for _, p := range v.Composed.Project.Twice {
		out = append(out, rule.Finding{Place: rights.Place{Doc: p.Doc, Start: p.Start, End: p.End},
			Message: p.Message, Hint: "Compose 2 refuses the file, older versions take the last one"})
	}
	return out
}

// serviceMissing reports a service that is not in the Compose files.
func serviceMissing(v *rule.View) (out []rule.Finding) {
	if v.Composed == nil {
		return nil
	}
	project := v.Composed.Project
	if project.Root.Get("services") == nil && len(project.Refused()) > 0 { // misspelt
		return nil
	}
	if len(project.Problems) > 0 || len(project.Unread) > 0 || len(v.Compose) < len(rights.Texts(v.Root.Member("dockerComposeFile"))) {
		return nil // it may be in what was not read
	}
	var known []string
	for _, s := range project.Services() {
		known = append(known, s.Name)
	}
	for _, name := range append(rights.Texts(v.Root.Member("runServices")), v.Root.Member("service")) {
		service, ok := name.Str()
		if !ok || project.Service(service) != nil || rights.Variable.MatchString(service) {
			continue
		}
		hint := "the Compose files define no services"
		if len(known) > 0 {
			hint = schema.DidYouMean(service, known[:min(len(known), maxCandidates)])
		}
		found := v.AtValue(name, fmt.Sprintf("the Compose files have no service %q", service), hint)
		if best := nearest(service, known); best != "" {
			found = found.Offering(jsonc.Replace(name, jsonc.Quote(best)))
		}
		out = append(out, found)
	}
	return out
}
