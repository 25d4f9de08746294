package devcontainer

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Org is an organisation's policy: what its configurations may hold. Each part
// has up to three lists: allow names all that may be there, forbid what may
// not, require what must.
//
//	registries    images and Features by where they come from: HOST/PATH
//	features      Features, by id without version or by its last part
//	capabilities  what capAdd, runArgs and cap_add add
//	extensions    of VS Code, PUBLISHER.NAME
//	mounts        sources on the host: /PATH, ~/PATH
//	properties    top-level names of devcontainer.json
//
// A * in an entry stands for anything but a slash.
type Org struct{ doc *jsonc.Document }

// ParseOrg reads a policy. It is nil when a finding is an error.
func ParseOrg(file string, src []byte) (*Org, []diag.Finding) {
	doc, findings := jsonc.Parse(file, src)
	for _, m := range schema.Policy(doc) {
		findings = append(findings, doc.Finding(m.Start, m.End, diag.Finding{Rule: m.Rule, Severity: diag.SeverityError, Pointer: m.Pointer,
			Message: m.Message, Hint: m.Hint}))
	}
	diag.Sort(findings)
	if diag.Worst(findings, diag.SeverityError) > 0 {
		return nil, findings
	}
	return &Org{doc}, findings
}

// entries returns one of the policy's lists; none when there is no policy.
func (o *Org) entries(part, list string) []*jsonc.Node {
	if o == nil {
		return nil
	}
	return rights.Texts(o.doc.Root.Member(part).Member(list))
}

// at quotes the place of an entry, or of a list.
func (o *Org) at(n *jsonc.Node) string {
	line, column := o.doc.Position(n.Start)
	return fmt.Sprintf("%s:%d:%d", o.doc.File, line, column)
}

// judge says whether something may be there: "" or why not, and which place of
// the policy says so.
func (o *Org) judge(part string, match func(entry string) bool) (why, where string) {
	for _, n := range o.entries(part, "forbid") {
		if match(n.Text) {
			return fmt.Sprintf("the policy forbids %s", n.Text), o.at(n) + " forbids it"
		}
	}
	if o == nil {
		return "", ""
	}
	allow := o.doc.Root.Member(part).Member("allow")
	if allow == nil {
		return "", ""
	}
	for _, n := range rights.Texts(allow) {
		if match(n.Text) {
			return "", ""
		}
	}
	return "it is not among what the policy allows", o.at(allow) + " lists what is allowed"
}

// registryName writes an image's or Feature's name out: Docker Hub is what a
// name without a registry means.
func registryName(s string) string {
	name, _, _ := splitImage(s)
	first, rest, slash := strings.Cut(name, "/")
	switch {
	case slash && (strings.ContainsAny(first, ".:") || first == "localhost"):
		return strings.ToLower(first + "/" + rest)
	case slash:
		return strings.ToLower("docker.io/" + name)
	}
	return strings.ToLower("docker.io/library/" + name)
}

// registryMatch compares whole parts of a name, so that ghcr.io/acme is not
// ghcr.io/acme-evil.
func registryMatch(entry, name string) bool {
	want, have := strings.Split(strings.ToLower(strings.Trim(entry, "/")), "/"), strings.Split(name, "/")
	if len(want) > len(have) {
		return false
	}
	for i := range want {
		if ok, err := path.Match(want[i], have[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

// policyMounts compares what is mounted of the host with the policy.
func policyMounts(v *view) (out []finding) {
	if v.Org == nil {
		return nil
	}
	for _, r := range v.of(rights.Mounted, rights.Granted) {
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
		case from.Base == "" && r.Notation == rights.Compose && !v.outsideProject(m.Source):
			continue
		}
		if why, where := v.Org.judge("mounts", func(e string) bool { return pathMatch(e, name) }); why != "" {
			out = append(out, v.policyFinding(r, fmt.Sprintf("the mount of %s: %s", m.Source, why), where))
		}
	}
	return out
}

// policyFinding is a finding at a right: where it stands, or at the name of the
// Feature that brings it.
func (v *view) policyFinding(r rights.Right, message, hint string) finding {
	if r.Notation != rights.Feature {
		return atRight(r, message, hint)
	}
	return v.atFeature(r, fmt.Sprintf("by the Feature %s, %s", r.From.Name, message), hint)
}

// pathMatch reports whether a path is an entry or lies below it. An absolute
// path and one below the home folder are never the same.
func pathMatch(entry, name string) bool {
	entry, name = path.Clean(entry), path.Clean(name)
	if path.IsAbs(entry) != path.IsAbs(name) {
		return false
	}
	want, have := strings.Split(strings.Trim(entry, "/"), "/"), strings.Split(strings.Trim(name, "/"), "/")
	if entry == "/" {
		return true
	}
	for i := range want {
		if i >= len(have) {
			return false
		}
		if ok, err := path.Match(want[i], have[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

// elsewhere are the options of docker run and the keys of a Compose service that
// do what a property does.
var elsewhere = map[string]struct {
	options []string
	key     string
}{
	"privileged":    {[]string{"privileged"}, "privileged"},
	"capAdd":        {[]string{"cap-add"}, "cap_add"},
	"securityOpt":   {[]string{"security-opt"}, "security_opt"},
	"mounts":        {[]string{"mount", "volume"}, ""},
	"containerEnv":  {[]string{"env", "env-file"}, ""},
	"containerUser": {[]string{"user"}, "user"},
	"appPort":       {[]string{"publish", "publish-all"}, "ports"},
	"init":          {[]string{"init"}, "init"},
}

// policyProperties compares the properties with the policy, in whichever
// notation they are.
func policyProperties(v *view) (out []finding) {
	for _, n := range v.Org.entries("properties", "forbid") {
		message, hint := fmt.Sprintf("the policy forbids %s", n.Text), v.Org.at(n)+" forbids it"
		if p := v.root.Member(n.Text); p != nil && p.Kind != jsonc.Null && !p.Is(false) {
			out = append(out, v.atValue(p, message, hint))
		}
		same := elsewhere[n.Text]
		for _, a := range v.RunArgs {
			if slices.Contains(same.options, a.Flag) && a.Value != "false" {
				out = append(out, v.atValue(a.Node, fmt.Sprintf("%s, and --%s is the same", message, a.Flag), hint))
			}
		}
		for _, s := range v.services() {
			if p := s.Get(same.key); same.key != "" && p != nil && !p.Null && (p.Kind != compose.Scalar || p.True() || !isSwitch(p)) {
				out = append(out, finding{Place: rights.Place{Doc: p.Doc, Start: p.Start, End: p.End},
					message: fmt.Sprintf("%s, and %s is the same", message, same.key), hint: hint})
			}
		}
		for _, f := range v.featureList() {
			if slices.Contains(f.properties, n.Text) {
				out = append(out, finding{Place: v.atName(f.member, "", "").Place, message: fmt.Sprintf("%s, and the Feature %s brings it", message,
					f.member.Name), hint: hint})
			}
		}
	}
	for _, n := range v.Org.entries("properties", "require") {
		if v.root.Member(n.Text) == nil {
			out = append(out, v.atMissing(nil, fmt.Sprintf("the policy requires %s", n.Text), v.Org.at(n)+" requires it"))
		}
	}
	return out
}

// isSwitch reports whether a value of Compose is one word of yes or no.
func isSwitch(n *compose.Node) bool {
	return n.True() || slices.Contains([]string{"false", "no", "off", "n", "0"}, strings.ToLower(n.Text))
}
