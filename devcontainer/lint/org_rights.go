package lint

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// mapped are bare names of Features that the reference CLI 0.89 (updateDeprecatedFeaturesIntoOptions) takes for others.
var mapped = map[string]string{"maven": "java", "gradle": "java", "jupyterlab": "python", "golang": "go", "common": "common-utils"}

// plainFeature and plainAddress match names of Features that every tool reads in one way.
var (
	plainFeature = lazyregexp.New(`^(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::[1-9][0-9]*)?/)?[\w.-]+(?:/[\w.-]+)*` +
		`(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?$`)
	plainAddress = lazyregexp.New(`^https?://[A-Za-z0-9][A-Za-z0-9.-]*(?::[1-9][0-9]*)?(?:/[^\\\s]*)?$`)
)

// isClear reports whether every tool takes the name of a Feature for the same place.
func isClear(name string) bool {
	if rights.IsLocal(name) {
		return true
	}
	name = org.TemplateOption.ReplaceAllString(name, "x")
	if rights.SourceOf(name) == rights.TarballFeature {
		_, err := url.Parse(name)
		return err == nil && plainAddress.MatchString(name)
	}
	return plainFeature.MatchString(name) && !slices.Contains(strings.Split(name, "/"), "..")
}

const twoWays = "its name can be read in more than one way"

// featurePlace is where a Feature comes from, in the form of an entry of
// registries; "" for one of the repository.
func featurePlace(name string) string {
	switch rights.SourceOf(name) {
	case rights.RegistryFeature:
		return rights.RegistryName(name)
	case rights.TarballFeature:
		return addressPlace(name)
	case rights.LegacyFeature:
		name, _, _ := rights.SplitImage(name)
		if !strings.Contains(name, "/") {
			name = strings.ToLower(name)
			return "ghcr.io/devcontainers/features/" + cmp.Or(mapped[name], name) // where the reference CLI looks
		}
		return "github.com/" + strings.ToLower(name) // a release
	}
	return ""
}

// addressPlace is an address in the form of an entry of registries: as it arrives at the server.
func addressPlace(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		_, rest, _ := strings.Cut(address, "://")
		return strings.ToLower(rest)
	}
	return strings.ToLower(path.Join(u.Host, path.Clean("/"+u.Path)))
}

// policyFeatures compares the Features, and what they depend on, with the
// policy's list of Features.
func policyFeatures(v *rule.View) (out []rule.Finding) {
	if v.Org == nil {
		return nil
	}
	have := v.Of(rights.Installed)
	for _, r := range have {
		id, _ := r.Node.Member("id").Str()
		matches := func(entry string) bool {
			return namesFeature(entry, r.Name) || id != "" && strings.EqualFold(entry, id)
		}
		why, where := v.Org.Judge("features", matches)
		if why == "" && !isClear(r.Name) {
			why, where = v.Org.Unclear("features", twoWays)
		}
		if why != "" {
			out = append(out, v.AtFeature(r, introduced(r)+": "+why, where))
		}
	}
	for _, n := range v.Org.Entries("features", "require") {
		if !slices.ContainsFunc(have, func(r rights.Right) bool { return namesFeature(n.Text, r.Name) }) {
			out = append(out, v.AtMissing(v.Root.Member("features"), fmt.Sprintf("the policy requires the Feature %s", n.Text),
				v.Org.At(n)+" requires it"))
		}
	}
	return out
}

// featureRegistries compares where Features come from with the policy.
func featureRegistries(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Of(rights.Installed) {
		place := featurePlace(r.Name)
		if place == "" {
			continue
		}
		why, where := v.Org.Judge("registries", func(e string) bool { return org.RegistryMatch(e, place) })
		if why == "" && !isClear(r.Name) {
			why, where = v.Org.Unclear("registries", twoWays)
		}
		if why != "" {
			out = append(out, v.AtFeature(r, introduced(r)+": "+why, where))
		}
	}
	return out
}

// introduced names a Feature in a message, with the one that depends on it.
func introduced(r rights.Right) string {
	if r.Value == "" {
		return "the Feature " + r.Name
	}
	return fmt.Sprintf("the Feature %s, which %s depends on", r.Name, r.Value)
}

// namesFeature reports whether an entry of a policy means the Feature of that name.
func namesFeature(entry, name string) bool {
	entry = strings.ToLower(entry)
	full, _, _ := rights.SplitImage(name)
	id, place := rights.FeatureID(name), featurePlace(name)
	if !strings.Contains(name, "/") {
		id = path.Base(place) // of the one that a bare name stands for
	}
	same, err := path.Match(entry, id)
	host, _, _ := strings.Cut(entry, "/")
	_, below, _ := strings.Cut(place, "/")
	switch {
	case err == nil && same, entry == rights.FeatureID(name), org.RegistryMatch(entry, strings.ToLower(full)):
		return true
	case !strings.Contains(entry, "/"), strings.ContainsAny(host, ".:"):
		return place != "" && org.RegistryMatch(entry, place)
	}
	return below != "" && org.RegistryMatch(entry, below) // without a registry: of any
}

// brings reports whether a Feature's right is the property of devcontainer.json of that name, or a Feature has it in its metadata.
func brings(r rights.Right, property string) bool {
	if r.Kind != rights.Installed {
		return r.Notation == rights.Feature && r.Key == property
	}
	return says(r.Node.Member(property))
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
			what, name = "a privileged hook has all capabilities", "ALL"
		case r.Kind == rights.Privileged, name == "ALL" && r.Notation == rights.Feature:
			what, name = "a privileged container has all capabilities", "ALL"
		}
		is := func(e string) bool { return rights.CapabilityName(e) == name }
		why, where := v.Org.Compare("capabilities", is, func(e string) bool { return is(e) || rights.CapabilityName(e) == "ALL" })
		if why != "" {
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
			if strings.Contains(id, "$") {
				return false // it can be any
			}
			ok, err := path.Match(strings.ToLower(entry), id)
			return err == nil && ok
		}
	}
	var own []string
	for _, r := range v.Of(rights.Extension) {
		another := strings.HasPrefix(r.Place.Pointer, "/customizations/") && !strings.HasPrefix(r.Place.Pointer, "/customizations/vscode/")
		if r.Notation != rights.Property || !another {
			own = append(own, r.Value)
		}
		if strings.HasPrefix(r.Value, "-") {
			continue // takes one out that an image or a Feature brings
		}
		why, where := v.Org.Judge("extensions", matches(r.Value))
		if why == "" && strings.HasSuffix(strings.ToLower(r.Value), ".vsix") {
			why, where = v.Org.Unclear("extensions", "it is a file, which may hold any")
		}
		if why != "" {
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
