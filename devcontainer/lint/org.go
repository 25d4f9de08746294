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
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// policyMounts compares what is mounted of the host, and what builds get of it, with the policy.
func policyMounts(v *rule.View) (out []rule.Finding) {
	if v.Org == nil {
		return nil
	}
	for _, r := range v.Of(rights.Mounted, rights.Granted, rights.EngineAPI) {
		m := r.Mount
		if r.Kind == rights.Granted && m.Source == "" || r.Key == "volumes_from" {
			continue
		}
		var why, where string
		switch {
		case r.Kind == rights.EngineAPI:
			m.Source = "/var/run/docker.sock"
			why, where = v.Org.Mount(m.Source, "")
		case m.Overlay:
			why, where = v.Org.Unclear("mounts", "it lays folders of the host over each other")
		case m.Type == "glob" && strings.ContainsAny(m.Source, "*?[{"):
			why, where = v.Org.Unclear("mounts", "it is a pattern")
		case m.Type != "bind" && m.Type != "npipe" && m.Type != "glob":
		case r.Notation == rights.Compose || v.ByCompose():
			why, where = policyFolder(v, m.Source, composeFolder(v))
		default:
			why, where = policyFolder(v, m.Source, "")
		}
		if why != "" {
			out = append(out, v.PolicyFinding(r, fmt.Sprintf("the mount of %s: %s", cmp.Or(m.Source, m.Target), why), where))
		}
	}
	for _, r := range v.Of(rights.VolumesFrom) {
		if name, _, other := strings.Cut(r.Value, ":"); r.Notation == rights.Option || other && name == "container" {
			if why, where := v.Org.Unclear("mounts", "what another container has mounted is not known"); why != "" {
				out = append(out, rule.AtRight(r, r.Written()+": "+why, where))
			}
		}
	}
	for _, a := range v.RunArgs {
		if a.Flag != "cidfile" {
			continue
		}
		if why, where := policyFolder(v, a.Value, path.Join(".", v.Home)); why != "" {
			out = append(out, v.AtValue(a.Node, fmt.Sprintf("--cidfile %s: %s", a.Value, why), where))
		}
	}
	for _, g := range buildSources(v) {
		if why, where := policyFolder(v, g.name, g.from); why != "" {
			out = append(out, rule.Finding{Place: g.at, Message: fmt.Sprintf("%s %s: %s", g.what, g.name, why), Hint: where})
		}
	}
	return out
}

// composeFolder is the folder in the tree that the names of Compose files start in.
func composeFolder(v *rule.View) string {
	if v.Composed == nil {
		return ""
	}
	return cmp.Or(path.Join(v.Dir, path.Dir(v.Composed.First)), ".")
}

// glued matches a way that starts with the name of a folder and more letters of its name.
var glued = lazyregexp.New(`^(\$\{[^}]*\}|\$\w+|~)[^/\\]`)

// drive matches a way that starts with a drive of Windows.
var drive = lazyregexp.New(`^[A-Za-z]:[\\/]`)

// policyFolder judges a file or folder of the host by its name; from is the folder in the tree that relative names start in, "" when it is
// not one of the tree's.
func policyFolder(v *rule.View, name, from string) (why, where string) {
	if strings.Contains(name, "..") && (strings.Contains(name, `\`) || glued.MatchString(name)) {
		return v.Org.Unclear("mounts", "where it leads depends on the system and on names")
	}
	climb, full := inProject(v, name, from)
	switch {
	case full == "" || climb != "":
		return v.Org.Mount(name, climb)
	case v.Tree == nil || v.Tree.Kind(full) != devcontainer.Nothing || absent(v, full):
		return "", ""
	}
	return v.Org.Unclear("mounts", "it leads out of the project by a link")
}

// inProject returns the name in the tree of one that is relative to the project, "" for any other; and the way to it from the top of the
// tree where that leads out.
func inProject(v *rule.View, name, from string) (climb, full string) {
	at := rights.Origin(name)
	working, inWorking := strings.CutPrefix(at.Path, "${PWD}") // where Compose is called: mostly in the project's folder
	if short, ok := strings.CutPrefix(at.Path, "$PWD"); ok && (short == "" || short[0] == '/') {
		working, inWorking = short, true
	}
	switch {
	case drive.MatchString(name):
		return "", ""
	case inWorking && from != "" && !strings.Contains(working, "$"):
		full = path.Join(cmp.Or(v.Home, "."), working)
	case strings.Contains(at.Path, "$"):
		return "", ""
	case at.Base == "workspace":
		full = path.Join(cmp.Or(v.Home, "."), at.Path)
	case at.Base == "" && from != "":
		full = path.Join(from, at.Path)
	case at.Base == "" && at.Leaves():
		return at.Path, ""
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
	"mounts":        {rights.Option: {"mount", "volume", "tmpfs", "volumes-from"}},
	"containerEnv":  {rights.Option: {"env", "env-file"}, rights.Compose: {"environment"}},
	"containerUser": {rights.Option: {"user"}, rights.Compose: {"user"}},
	"appPort":       {rights.Option: {"publish", "publish-all"}, rights.Compose: {"ports"}},
	"init":          {rights.Option: {"init"}, rights.Compose: {"init"}},
}

// former are the properties that stood for one before it was there.
var former = map[string][]string{"build": {"dockerFile", "context"}, "customizations": {"extensions", "settings", "devPort"}}

// says reports whether a property does something: it is there, and neither null, false nor empty.
func says(n *jsonc.Node) bool {
	switch {
	case n == nil, n.Kind == jsonc.Null, n.Is(false):
		return false
	case n.Kind == jsonc.String:
		return n.Text != ""
	case n.Kind == jsonc.Array:
		return len(n.Elements) > 0
	}
	return n.Kind != jsonc.Object || len(n.Members) > 0
}

// policyProperties compares the properties with the policy, in whichever
// notation they are.
func policyProperties(v *rule.View) (out []rule.Finding) {
	for _, n := range v.Org.Entries("properties", "forbid") {
		message, hint := fmt.Sprintf("the policy forbids %s", n.Text), v.Org.At(n)+" forbids it"
		for _, name := range append([]string{n.Text}, former[n.Text]...) {
			if p := v.Root.Member(name); says(p) {
				out = append(out, v.AtValue(p, message, hint))
			}
		}
		for _, r := range v.Rights {
			if r.Kind == rights.Labelled && says(r.Node.Member(n.Text)) {
				r.Key = n.Text
			}
			if slices.Contains(elsewhere[n.Text][r.Notation], r.Key) || r.Kind == rights.Labelled && r.Key != "" {
				same := fmt.Sprintf("%s, and %s is the same", message, r.Named())
				if r.Service != nil && r.Key == n.Text {
					same = fmt.Sprintf("%s, and the service %s has it", message, r.Service.Name)
				}
				out = append(out, rule.AtRight(r, same, hint))
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
		if !says(v.Root.Member(n.Text)) {
			out = append(out, v.AtMissing(nil, fmt.Sprintf("the policy requires %s", n.Text), v.Org.At(n)+" requires it"))
		}
	}
	return out
}
