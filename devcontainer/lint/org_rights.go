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

// feature is what a policy asks of a Feature, as far as it is known here: of
// one in the repository, and of a few well-known ones.
type feature struct {
	member     jsonc.Member // among the configuration's features
	id         string       // by its own metadata; "" when that is not known
	depends    []string
	properties []string // names that it has in devcontainer.json
}

func featureList(v *rule.View) []feature {
	features := v.Root.Member("features")
	if features == nil {
		return nil
	}
	var out []feature
	for _, m := range features.Members {
		f := feature{member: m}
		if rights.SourceOf(m.Name) == rights.LocalFeature {
			f.read(v.LocalFeature(m.Name))
		}
		out = append(out, f)
	}
	for _, r := range v.Rights {
		if r.Notation == rights.Feature {
			i := slices.IndexFunc(out, func(f feature) bool { return f.member.NameStart == r.From.NameStart })
			if f := &out[i]; !slices.Contains(f.properties, r.Key) {
				f.properties = append(f.properties, r.Key)
			}
		}
	}
	return out
}

func (f *feature) read(meta *jsonc.Node) {
	if meta == nil {
		return
	}
	f.id, _ = meta.Member("id").Str()
	for _, m := range meta.Member("dependsOn").Fields() {
		f.depends = append(f.depends, m.Name)
	}
	for _, m := range meta.Members {
		if m.Value.Kind != jsonc.Null && !m.Value.Is(false) {
			f.properties = append(f.properties, m.Name)
		}
	}
}

// featurePlace is where a Feature comes from, in the form of an entry of
// registries; "" for one of the repository.
func featurePlace(name string) string {
	switch rights.SourceOf(name) {
	case rights.RegistryFeature:
		return rights.RegistryName(name)
	case rights.TarballFeature:
		_, rest, _ := strings.Cut(name, "://")
		return strings.ToLower(rest)
	case rights.LegacyFeature:
		name, _, _ := rights.SplitImage(name)
		if !strings.Contains(name, "/") {
			return "ghcr.io/devcontainers/features/" + strings.ToLower(name) // where the reference CLI looks
		}
		return "github.com/" + strings.ToLower(name) // a release
	}
	return ""
}

// policyFeatures compares the Features, and what they depend on, with the
// policy's list of Features.
func policyFeatures(v *rule.View) (out []rule.Finding) {
	if v.Org == nil {
		return nil
	}
	have := featureList(v)
	for _, f := range have {
		for _, d := range f.named() {
			if why, where := v.Org.Judge("features", d.matches); why != "" {
				out = append(out, v.AtName(f.member, d.what+": "+why, where))
			}
		}
	}
	for _, n := range v.Org.Entries("features", "require") {
		if !slices.ContainsFunc(have, func(f feature) bool { return namedFeature{name: f.member.Name}.matches(n.Text) }) {
			out = append(out, v.AtMissing(v.Root.Member("features"), fmt.Sprintf("the policy requires the Feature %s", n.Text),
				v.Org.At(n)+" requires it"))
		}
	}
	return out
}

// featureRegistries compares where Features come from with the policy.
func featureRegistries(v *rule.View) (out []rule.Finding) {
	for _, f := range featureList(v) {
		for _, d := range f.named() {
			place := featurePlace(d.name)
			if place == "" {
				continue
			}
			if why, where := v.Org.Judge("registries", func(e string) bool { return org.RegistryMatch(e, place) }); why != "" {
				out = append(out, v.AtName(f.member, d.what+": "+why, where))
			}
		}
	}
	return out
}

// namedFeature is a Feature that comes into the container.
type namedFeature struct {
	name string // as it is written
	id   string // by its own metadata; "" when that is not known
	what string // for messages
}

// named returns the Feature itself and those that it depends on.
func (f feature) named() []namedFeature {
	out := []namedFeature{{f.member.Name, f.id, "the Feature " + f.member.Name}}
	for _, name := range f.depends {
		out = append(out, namedFeature{name, "", fmt.Sprintf("the Feature %s, which %s depends on", name, f.member.Name)})
	}
	return out
}

// matches reports whether an entry of a policy means the Feature.
func (f namedFeature) matches(entry string) bool {
	full, _, _ := rights.SplitImage(f.name)
	return org.RegistryMatch(entry, strings.ToLower(full)) || strings.EqualFold(entry, rights.FeatureID(f.name)) ||
		f.id != "" && strings.EqualFold(entry, f.id)
}

// policyCapabilities compares the capabilities with the policy, in whichever
// notation they are.
func policyCapabilities(v *rule.View) (out []rule.Finding) {
	if v.Org == nil {
		return nil
	}
	for _, r := range v.Of(rights.Capability, rights.Privileged) {
		what, name := "the capability "+r.Value, r.Value
		switch {
		case r.Kind == rights.Privileged && r.Name != "":
			continue // a hook's command, not the container
		case r.Kind == rights.Privileged, name == "ALL" && r.Notation == rights.Feature:
			what, name = "a privileged container has all capabilities", "ALL"
		}
		if why, where := v.Org.Judge("capabilities", func(e string) bool { return rights.CapabilityName(e) == name }); why != "" {
			out = append(out, v.PolicyFinding(r, what+": "+why, where))
			continue
		}
		// All of them hold each one that is forbidden.
		if forbidden := v.Org.Entries("capabilities", "forbid"); name == "ALL" && len(forbidden) > 0 {
			n := forbidden[0]
			out = append(out, v.PolicyFinding(r, fmt.Sprintf("%s, %s among them: the policy forbids it", what, rights.CapabilityName(n.Text)),
				v.Org.At(n)+" forbids it"))
		}
	}
	return out
}

// policyExtensions compares the extensions with the policy.
func policyExtensions(v *rule.View) (out []rule.Finding) {
	if v.Org == nil {
		return nil
	}
	matches := func(id string) func(string) bool {
		id, _, _ = strings.Cut(strings.ToLower(id), "@")
		return func(entry string) bool {
			ok, err := path.Match(strings.ToLower(entry), id)
			return err == nil && ok
		}
	}
	var own []string
	for _, r := range v.Of(rights.Extension) {
		if r.Notation == rights.Property {
			own = append(own, r.Value)
		}
		if strings.HasPrefix(r.Value, "-") {
			continue // takes one out that an image or a Feature brings
		}
		if why, where := v.Org.Judge("extensions", matches(r.Value)); why != "" {
			out = append(out, v.PolicyFinding(r, fmt.Sprintf("the extension %s: %s", r.Value, why), where))
		}
	}
	for _, n := range v.Org.Entries("extensions", "require") {
		found, removed := false, false
		for _, name := range own {
			id, minus := strings.CutPrefix(name, "-")
			hit := matches(n.Text)(id) || matches(id)(n.Text)
			found, removed = found || hit && !minus, removed || hit && minus
		}
		if !found || removed {
			list := v.Root.Member("customizations").Member("vscode").Member("extensions")
			out = append(out, v.AtMissing(list, fmt.Sprintf("the policy requires the extension %s", n.Text), v.Org.At(n)+" requires it"))
		}
	}
	return out
}
