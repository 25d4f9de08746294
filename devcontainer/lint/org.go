package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// policyMounts compares what is mounted of the host with the policy.
func policyMounts(v *rule.View) (out []rule.Finding) {
	if v.Org == nil {
		return nil
	}
	for _, r := range v.Of(rights.Mounted, rights.Granted) {
		m := r.Mount
		if m.Type != "bind" && m.Type != "npipe" || r.Kind == rights.Granted && m.Source == "" || r.Key == "volumes_from" {
			continue
		}
		from := rights.Origin(m.Source)
		name := m.Source
		switch {
		case from.Base == "/":
			name = "/" + strings.TrimPrefix(from.Path, ".")
		case from.Base == "home":
			name = path.Join("~", from.Path)
		case from.Base == "workspace" && !from.Leaves():
			continue // the project's own
		case from.Base == "" && r.Notation == rights.Compose && !outsideProject(v, m.Source):
			continue
		}
		if why, where := v.Org.Judge("mounts", func(e string) bool { return org.PathMatch(e, name) }); why != "" {
			out = append(out, v.PolicyFinding(r, fmt.Sprintf("the mount of %s: %s", m.Source, why), where))
		}
	}
	return out
}

// elsewhere are the options of docker run and the keys of a Compose service that
// do what a property does.
var elsewhere = map[string]map[rights.Notation][]string{
	"privileged":    {rights.Option: {"privileged"}, rights.Compose: {"privileged"}},
	"capAdd":        {rights.Option: {"cap-add"}, rights.Compose: {"cap_add"}},
	"securityOpt":   {rights.Option: {"security-opt"}, rights.Compose: {"security_opt"}},
	"mounts":        {rights.Option: {"mount", "volume"}},
	"containerEnv":  {rights.Option: {"env", "env-file"}},
	"containerUser": {rights.Option: {"user"}, rights.Compose: {"user"}},
	"appPort":       {rights.Option: {"publish", "publish-all"}, rights.Compose: {"ports"}},
	"init":          {rights.Option: {"init"}, rights.Compose: {"init"}},
}

// policyProperties compares the properties with the policy, in whichever
// notation they are.
func policyProperties(v *rule.View) (out []rule.Finding) {
	for _, n := range v.Org.Entries("properties", "forbid") {
		message, hint := fmt.Sprintf("the policy forbids %s", n.Text), v.Org.At(n)+" forbids it"
		if p := v.Root.Member(n.Text); p != nil && p.Kind != jsonc.Null && !p.Is(false) {
			out = append(out, v.AtValue(p, message, hint))
		}
		for _, r := range v.Rights {
			if slices.Contains(elsewhere[n.Text][r.Notation], r.Key) || r.Notation == rights.Label && r.Key == n.Text {
				out = append(out, rule.AtRight(r, fmt.Sprintf("%s, and %s is the same", message, r.Named()), hint))
			}
		}
		from := -1 // where the last Feature stands that brings it: it may bring it twice
		for _, r := range v.Rights {
			if brings(r, n.Text) && r.From.NameStart != from {
				from = r.From.NameStart
				out = append(out, v.AtFeature(r, fmt.Sprintf("%s, and the Feature %s brings it", message, r.From.Name), hint))
			}
		}
	}
	for _, n := range v.Org.Entries("properties", "require") {
		if v.Root.Member(n.Text) == nil {
			out = append(out, v.AtMissing(nil, fmt.Sprintf("the policy requires %s", n.Text), v.Org.At(n)+" requires it"))
		}
	}
	return out
}
