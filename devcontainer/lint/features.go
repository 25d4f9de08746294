package lint

import (
	_ "embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// exclusive are pairs of Features that put the same program to different ends.
var exclusive = [][2]string{
	{"ghcr.io/devcontainers/features/docker-in-docker", "ghcr.io/devcontainers/features/docker-outside-of-docker"},
}

// featureMistakes reports Features that are not used as they are made.
func featureMistakes(v *rule.View) (out []rule.Finding) {
	list := v.Root.Member("features").Fields()
	versionless := func(id string) string {
		id, _, _ = strings.Cut(id, "@")
		if at := strings.LastIndex(id, ":"); at > strings.LastIndex(id, "/") {
			id = id[:at]
		}
		return strings.ToLower(id)
	}
	named := map[string]bool{}
	for _, m := range list {
		named[versionless(m.Name)] = true
		out = append(out, unknownFeatureOptions(v, m)...)
		out = append(out, featureWithoutDot(v, m)...)
		out = append(out, featureDigest(v, m)...)
		out = append(out, featureAddress(v, m)...)
		out = append(out, officialFeature(v, m)...)
	}
	for _, m := range list {
		for _, pair := range exclusive {
			if versionless(m.Name) == pair[1] && named[pair[0]] {
				out = append(out, v.AtName(m, "docker-in-docker and docker-outside-of-docker install the same program for two engines",
					"keep one of them"))
			}
		}
	}
	ids := make([]string, 0, len(list))
	for _, m := range list {
		ids = append(ids, versionless(m.Name))
	}
	for _, n := range rights.Texts(v.Root.Member("overrideFeatureInstallOrder")) {
		// A Feature that others depend on is in the order, too: only a near miss is one.
		id := versionless(n.Text)
		if len(list) > 0 && n.Text != "" && !strings.ContainsAny(n.Text, `/\$`) {
			f := v.AtValue(n, fmt.Sprintf("the reference CLI takes %q for a Feature of the old format, and refuses it", n.Text),
				"write it as features has it: ./NAME, or REGISTRY/OWNER/REPOSITORY/NAME")
			f.Severity = diag.SeverityError
			out = append(out, f)
			continue
		}
		if named[id] || rights.IsLocal(id) {
			continue
		}
		if best := nearest(id, ids); best != "" {
			out = append(out, v.AtValue(n, fmt.Sprintf("features has no %q", n.Text), fmt.Sprintf("did you mean %q?", best)))
		}
	}
	return out
}

// unknownFeatureOptions reports options that a Feature of the repository does not declare.
func unknownFeatureOptions(v *rule.View, m jsonc.Member) (out []rule.Finding) {
	if !rights.IsLocal(m.Name) || m.Value.Kind != jsonc.Object {
		return nil
	}
	doc := v.FeatureMetadata(m.Name)
	if doc == nil {
		return nil
	}
	var known []string
	for _, o := range doc.Root.Member("options").Fields() {
		known = append(known, o.Name)
	}
	for _, o := range m.Value.Members {
		if slices.Contains(known, o.Name) {
			out = append(out, featureValue(v, m.Name, o, doc.Root.Member("options").Member(o.Name))...)
			continue
		}
		hint := "its devcontainer-feature.json declares none"
		if len(known) > 0 {
			hint = "it declares " + strings.Join(known, ", ")
		}
		found := v.AtName(o, fmt.Sprintf("the Feature %s has no option %q", m.Name, o.Name), hint)
		if best := nearest(o.Name, known); best != "" && m.Value.Member(best) == nil {
			found = found.Offering(jsonc.Rename(o, best))
		}
		out = append(out, found)
	}
	return out
}

// featureValue reports a value that a Feature of the repository does not list, or that is no yes or no.
func featureValue(v *rule.View, feature string, given jsonc.Member, option *jsonc.Node) []rule.Finding {
	text, isText := given.Value.Str()
	if !isText || strings.Contains(text, "$") {
		return nil
	}
	accepted := option.Member("enum")
	switch {
	case option.Member("type").TextOr("") == "boolean" && text != "true" && text != "false":
		return []rule.Finding{v.AtValue(given.Value, fmt.Sprintf("the option %s of %s is a yes or no", given.Name, feature),
			"write true or false")}
	case accepted == nil || len(accepted.Elements) == 0 || slices.ContainsFunc(rights.Texts(accepted),
		func(n *jsonc.Node) bool { return n.Text == text }):
		return nil
	}
	var words []string
	for _, n := range rights.Texts(accepted) {
		words = append(words, n.Text)
	}
	return []rule.Finding{v.AtValue(given.Value, fmt.Sprintf("the option %s of %s has no choice %q", given.Name, feature, text),
		"accepted: "+strings.Join(words, ", "))}
}

// featureArchive matches the name that the reference CLI wants of a Feature's archive.
var featureArchive = lazyregexp.New(`/devcontainer-feature-[^/]+\.tgz$`)

// featureAddress reports an address that is no archive, such as the page of a Feature.
func featureAddress(v *rule.View, m jsonc.Member) []rule.Finding {
	if !strings.HasPrefix(m.Name, "https://") || featureArchive.MatchString(m.Name) || strings.Contains(m.Name, "$") {
		return nil
	}
	f := v.AtName(m, "the reference CLI refuses this address: it is no archive of a Feature",
		"name the Feature by its registry, such as ghcr.io/devcontainers/features/go:1")
	f.Severity = diag.SeverityError
	return []rule.Finding{f}
}

// features.txt has the Features of ghcr.io/devcontainers/features: name, newest version (November 2026), options,
// those with ? are a yes or no.
//
//go:embed features.txt
var officialList string

// published is what is known of one of them.
type published struct {
	newest   string
	options  []string
	switches []string // those of options that are a yes or no
}

// official are they by name.
var official = sync.OnceValue(func() map[string]published {
	out := map[string]published{}
	for line := range strings.Lines(officialList) {
		words := strings.Fields(line)
		p := published{newest: words[1]}
		for _, o := range words[2:] {
			name, isSwitch := strings.CutSuffix(o, "?")
			if p.options = append(p.options, name); isSwitch {
				p.switches = append(p.switches, name)
			}
		}
		out[words[0]] = p
	}
	return out
})

// officialFeature reports a tag that is rather the version of the tool, and names of Features and options that are
// nearly those of an official one: there may be newer ones.
func officialFeature(v *rule.View, m jsonc.Member) []rule.Finding {
	const namespace = "ghcr.io/devcontainers/features/"
	rest, ok := strings.CutPrefix(m.Name, namespace)
	name, tag, tagged := strings.Cut(rest, ":")
	if !ok || strings.ContainsAny(rest, "@$/") {
		return nil
	}
	known, is := official()[name]
	if !is {
		if best := diag.Suggest(name, slices.Collect(maps.Keys(official()))); best != "" {
			return []rule.Finding{v.AtName(m, fmt.Sprintf("there is no Feature %s in %s", name, strings.TrimSuffix(namespace, "/")),
				fmt.Sprintf("did you mean %q?", strings.Replace(m.Name, name, best, 1))).Offering(jsonc.Rename(m, strings.Replace(m.Name, name,
				best, 1)))}
		}
		return nil
	}
	newest, options := known.newest, known.options
	if tagged && farAbove(tag, newest) {
		major, _, _ := strings.Cut(newest, ".")
		hint := fmt.Sprintf("write %s%s:%s", namespace, name, major)
		if slices.Contains(options, "version") {
			hint += fmt.Sprintf(` with the option "version": %q`, tag)
		}
		return []rule.Finding{v.AtName(m, fmt.Sprintf("%s is no version of the Feature %s, whose newest is %s", tag, name, newest), hint)}
	}
	out := refusesImage(v, m, name)
	for _, o := range m.Value.Fields() {
		text, ok := o.Value.Str()
		if ok && text != "true" && text != "false" && !strings.Contains(text, "$") && slices.Contains(known.switches, o.Name) {
			out = append(out, v.AtValue(o.Value, fmt.Sprintf("the option %s of %s is a yes or no, and its script takes this for no", o.Name, name),
				"write true or false"))
		}
		if best := diag.Suggest(o.Name, options); best != "" && !slices.Contains(options, o.Name) && m.Value.Member(best) == nil {
			out = append(out, v.AtName(o, fmt.Sprintf("the Feature %s has no option %q", name, o.Name), fmt.Sprintf("did you mean %q?", best)).
				Offering(jsonc.Rename(o, best)))
		}
	}
	return out
}

// aptOnly are the official Features whose install.sh knows no apk and ends without apt-get (devcontainers/features,
// 2026-07-14).
var aptOnly = strings.Fields("aws-cli azure-cli conda desktop-lite docker-in-docker docker-outside-of-docker dotnet git-lfs github-cli " +
	"go hugo java kubectl-helm-minikube node nvidia-cuda oryx php powershell python sshd terraform")

// refusesImage reports an official Feature whose install.sh ends on the image with an error.
func refusesImage(v *rule.View, m jsonc.Member, name string) []rule.Finding {
	image := v.BaseImage()
	known, _ := baseimage.Of(image)
	var f rule.Finding
	switch {
	case known.Family == baseimage.Alpine && slices.Contains(aptOnly, name):
		f = v.AtName(m, fmt.Sprintf("the Feature %s does not install on Alpine, which %s is", name, image),
			"take an image of Debian or Ubuntu, or install the program in a Dockerfile with apk")
	case known.Release == "13" && strings.HasPrefix(name, "docker-") && asksForMoby(m.Value):
		f = v.AtName(m, fmt.Sprintf("the Feature %s has no moby packages for Debian trixie, which %s is", name, image),
			`set its option "moby": false, or take an image of bookworm`)
	default:
		return nil
	}
	f.Severity = diag.SeverityError
	return []rule.Finding{f}
}

// asksForMoby reports whether the option moby is true, as it is unless another value is set.
func asksForMoby(options *jsonc.Node) bool {
	n := options.Member("moby")
	text, _ := n.Str()
	return n == nil || n.Is(true) || text == "true"
}

// farAbove reports whether a tag is a version so high above the newest one that it is another thing's.
func farAbove(tag, newest string) bool {
	numbers := func(s string) (major, minor int) {
		parts := strings.SplitN(s+".0", ".", 3)
		major, err := strconv.Atoi(parts[0])
		if err != nil {
			return -1, 0
		}
		minor, _ = strconv.Atoi(parts[1])
		return major, minor
	}
	major, minor := numbers(tag)
	newestMajor, newestMinor := numbers(newest)
	return major > newestMajor+1 || major == newestMajor && minor > newestMinor+10
}

// featureDigest reports a version behind @, where the reference CLI takes a digest alone.
func featureDigest(v *rule.View, m jsonc.Member) []rule.Finding {
	name, digest, ok := strings.Cut(m.Name, "@")
	if !ok || strings.Contains(m.Name, "://") || rights.IsLocal(m.Name) || strings.HasPrefix(digest, "sha256:") {
		return nil
	}
	f := v.AtName(m, fmt.Sprintf("%q is no digest, and the reference CLI refuses the Feature", digest),
		fmt.Sprintf("did you mean %q?", name+":"+digest)).
		Offering(jsonc.Rename(m, name+":"+digest))
	f.Severity = diag.SeverityError
	return []rule.Finding{f}
}

// featureWithoutDot reports the name of a folder of the repository that is taken for a
// Feature of a registry.
func featureWithoutDot(v *rule.View, m jsonc.Member) []rule.Finding {
	if v.Tree == nil || rights.SourceOf(m.Name) != rights.LegacyFeature || strings.ContainsAny(m.Name, ":@") {
		return nil
	}
	full, ok := v.Path(m.Name)
	if !ok || v.Tree.Kind(path.Join(full, devcontainer.FeatureName)) != devcontainer.File {
		return nil
	}
	return []rule.Finding{v.AtName(m, fmt.Sprintf("%q is looked for in a registry, though a folder has that name", m.Name),
		fmt.Sprintf("did you mean %q?", "./"+m.Name)).Offering(jsonc.Rename(m, "./"+m.Name))}
}
