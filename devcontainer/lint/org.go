package lint

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
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
		if r.Kind == rights.Granted && m.Source == "" || r.Key == "volumes_from" {
			continue
		}
		var why, where string
		switch {
		case m.Overlay:
			why, where = v.Org.Unclear("it lays folders of the host over each other")
		case m.Type == "glob" && strings.ContainsAny(m.Source, "*?[{"):
			why, where = v.Org.Unclear("it is a pattern")
		case m.Type != "bind" && m.Type != "npipe" && m.Type != "glob":
		default:
			climb, full := inProject(v, r)
			if full == "" || climb != "" {
				why, where = v.Org.Mount(m.Source, climb)
				break
			}
			if v.Tree == nil || v.Tree.Kind(full) != devcontainer.Nothing || absent(v, full) {
				continue
			}

			why, where = v.Org.Unclear("it leads out of the project by a link")
		}
		if why != "" {
			out = append(out, v.PolicyFinding(r, fmt.Sprintf("the mount of %s: %s", cmp.Or(m.Source, m.Target), why), where))
		}
	}
	return out
}

// inProject returns the name in the tree of a mount's source that is relative to the project, "" for any other; and the way to it from the
// top of the tree where that leads out.
func inProject(v *rule.View, r rights.Right) (climb, full string) {
	from := rights.Origin(r.Mount.Source)
	working, inWorking := strings.CutPrefix(from.Path, "${PWD}") // where Compose is called: mostly in the project's folder
	switch {
	case inWorking && r.Notation == rights.Compose && !strings.Contains(working, "$"):
		full = path.Join(cmp.Or(v.Home, "."), working)
	case strings.Contains(from.Path, "$"):
		return "", ""
	case from.Base == "workspace":
		full = path.Join(cmp.Or(v.Home, "."), from.Path)
	case from.Base == "" && r.Notation == rights.Compose && v.Composed != nil:
		full = path.Join(v.Dir, path.Dir(v.Composed.First), from.Path)
	case from.Base == "" && from.Leaves():
		return from.Path, ""
	}
	if full != "" && devcontainer.LeavesTree(full) {
		return full, full
	}
	return "", full
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
