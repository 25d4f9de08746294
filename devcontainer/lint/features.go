package lint

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/schema"
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
	if v.Kind() == devcontainer.FeatureFile {
		return neededFeatures(v)
	}
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
		out = append(out, valueMisread(v, m)...)
		out = append(out, featureDigest(v, m)...)
		out = append(out, featureAddress(v, m)...)
		if refused := refusedFeature(v, m); refused != nil {
			out = append(out, refused...)
		} else {
			out = append(out, publishedFeature(v, m)...)
		}
	}
	out = append(out, afterFeatures(v, list)...)
	for _, m := range list {
		for _, pair := range exclusive {
			if versionless(m.Name) == pair[1] && named[pair[0]] {
				out = append(out, v.AtName(m, "docker-in-docker and docker-outside-of-docker both say which engine the command docker reaches",
					"keep docker-in-docker for an engine inside the container, or docker-outside-of-docker for that of the host"))
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
		if message := refusedAs(n.Text); len(list) > 0 && message != "" {
			f := v.AtValue(n, message, "write it as features has it: ./NAME, or REGISTRY/OWNER/REPOSITORY/NAME")
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

func elementsOf(n *jsonc.Node) []*jsonc.Node {
	if n == nil {
		return nil
	}
	return n.Elements
}

// featurePorts are ports that official Features do not listen on, and those that they do.
var featurePorts = []struct{ feature, wrong, right string }{
	{"sshd", "22", "2222"},
	{"desktop-lite", "5900", "5901 for VNC, or 6080 for a browser"},
}

// afterFeatures reports what a configuration expects of its Features and does not get: a user who works in the container, and ports.
func afterFeatures(v *rule.View, list []jsonc.Member) (out []rule.Finding) {
	image, known := baseimage.Of(v.BaseImage())
	for _, m := range list {
		name, official := strings.CutPrefix(m.Name, officialNamespace+"/")
		name, _, _ = strings.Cut(name, ":")
		if !official {
			continue
		}
		user := m.Value.Member("username").TextOr("")
		named := v.NamedUser() != nil || len(v.Of(rights.User, rights.Session)) > 0
		asked := name == "common-utils" && user != "" && !slices.Contains([]string{"automatic", "auto", "none", "root"}, user) &&
			!strings.Contains(user, "$")
		asRoot := !named && known && image.Official() && v.Build == nil && !v.ByCompose()
		if asked && asRoot {
			out = append(out, v.AtName(m, fmt.Sprintf("common-utils makes the user %s, and root works in the container all the same", user),
				fmt.Sprintf(`add "remoteUser": %q`, user)))
		}
		for _, n := range elementsOf(v.Root.Member("forwardPorts")) {
			for _, p := range featurePorts {
				if p.feature == name && n.Text == p.wrong {
					out = append(out, v.AtValue(n, fmt.Sprintf("the Feature %s does not listen on port %s", name, p.wrong), "it listens on "+p.right))
				}
			}
		}
	}
	return out
}

// neededFeatures reports the same of the Features that one needs or follows.
func neededFeatures(v *rule.View) (out []rule.Finding) {
	for _, m := range v.Root.Member("dependsOn").Fields() {
		message := refusedAs(m.Name)
		if message == "" {
			out = append(out, publishedFeature(v, m)...)
		} else {
			f := v.AtName(m, message, "write ./NAME, or REGISTRY/OWNER/REPOSITORY/NAME")
			f.Severity = diag.SeverityError
			out = append(out, f)
		}
	}
	for _, n := range rights.Texts(v.Root.Member("installsAfter")) {
		if n.Text != "" && !strings.ContainsAny(n.Text, "/$") {
			hint := "write it whole: REGISTRY/OWNER/REPOSITORY/NAME"
			if _, known := collections()[officialNamespace][n.Text]; known {
				hint = "write " + officialNamespace + "/" + n.Text
			}
			out = append(out, v.AtValue(n, fmt.Sprintf("%q is not the whole name of a Feature, so this orders nothing", n.Text), hint))
			continue
		}
		namespace, name := path.Dir(n.Text), path.Base(n.Text)
		list := collections()[officialNamespace]
		best := diag.Suggest(name, slices.Collect(maps.Keys(list)))
		if _, is := list[name]; !is && best != "" && namespace == officialNamespace {
			out = append(out, v.AtValue(n, fmt.Sprintf("there is no Feature %s in %s, so this orders nothing", name, namespace),
				fmt.Sprintf("did you mean %q?", namespace+"/"+best)))
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
		if best := nearOption(m.Name, o.Name, known); best != "" && m.Value.Member(best) == nil {
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

// wantsBash reports a Feature whose install.sh is for bash, on Alpine's image, which has none unless common-utils brings it.
func wantsBash(v *rule.View, m jsonc.Member) []rule.Finding {
	image := v.BaseImage()
	known, _ := baseimage.Of(image)
	others := v.Root.Member("features").Fields()
	if v.Build != nil || known.Family != baseimage.Alpine || !known.Lacks("bash") || len(others) > 1 {
		return nil
	}
	f := v.AtName(m, fmt.Sprintf("bash runs the install.sh of this Feature, and %s has none", image),
		"take an image of Debian or Ubuntu, or install bash in a Dockerfile")
	f.Severity = diag.SeverityError
	return []rule.Finding{f}
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
		f = v.AtName(m, fmt.Sprintf("the Feature %s does not install on Alpine, which %s is based on", name, image),
			"take an image of Debian or Ubuntu, or install the program in a Dockerfile with apk")
	case known.Release == "13" && strings.HasPrefix(name, "docker-") && asksForMoby(m.Value):
		f = v.AtName(m, fmt.Sprintf("the Feature %s has no moby packages for Debian trixie, which %s is based on", name, image),
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

// bareNames are the names without a registry for which the reference CLI takes a Feature of the official collection (0.89), and
// optionNames those for which it sets an option of one, in features alone.
var (
	bareNames = strings.Fields("aws-cli azure-cli common desktop-lite docker-from-docker docker-in-docker dotnet git git-lfs github-cli " +
		"golang java kubectl-helm-minikube node powershell python ruby rust sshd terraform")
	optionNames = []string{"gradle", "jupyterlab", "maven"}
)

// featurePath and featureTag match what the reference CLI (0.89) takes behind the registry and as a version.
var (
	featurePath = lazyregexp.New(`^[a-z0-9]+([._-][a-z0-9]+)*(/[a-z0-9]+([._-][a-z0-9]+)*)+$`)
	featureTag  = lazyregexp.New(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
)

// refusedAs is how the reference CLI takes the name of a Feature that it refuses before it asks anybody, "" for all others.
func refusedAs(name string) string {
	switch {
	case strings.ContainsAny(name, "$@") || rights.IsLocal(name) || rights.SourceOf(name) == rights.TarballFeature:
		return ""
	case !strings.ContainsAny(name, `/\`) && !slices.Contains(bareNames, name):
		return fmt.Sprintf("the reference CLI takes %q for a Feature of the old format, and refuses it", name)
	case !strings.ContainsAny(name, `/\`):
		return ""
	}
	registry, below, _ := strings.Cut(strings.ToLower(name), "/")
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		below = strings.TrimSuffix(below, strings.ToLower(name[at:]))
		if tag := name[at+1:]; tag != "" && !featureTag.MatchString(tag) {
			return fmt.Sprintf("the reference CLI refuses the version %q of a Feature", tag)
		}
	}
	if !featurePath.MatchString(below) || registry == "" || registry[0] == '.' || strings.Contains(registry, " ") {
		return fmt.Sprintf("the reference CLI refuses the name %q of a Feature", name)
	}
	return ""
}

// refusedFeature reports a name that the reference CLI refuses: of a folder, of a published Feature, of a property, or badly written.
func refusedFeature(v *rule.View, m jsonc.Member) []rule.Finding {
	message, hint, better := refusedAs(m.Name), "write it as ./NAME, or REGISTRY/OWNER/REPOSITORY/NAME", ""
	severity := diag.SeverityError
	full, inside := v.Path(m.Name)
	ofFolder := v.Tree != nil && inside && rights.SourceOf(m.Name) == rights.LegacyFeature &&
		v.Tree.Kind(path.Join(full, devcontainer.FeatureName)) == devcontainer.File
	if message == "" || slices.Contains(optionNames, m.Name) {
		if !ofFolder {
			return nil
		}
		severity = diag.SeverityWarning
		message = fmt.Sprintf("the reference CLI takes %q for a published Feature, though a folder has that name", m.Name)
	}
	id, _, _ := strings.Cut(m.Name, ":")
	known, official := collections()[officialNamespace][path.Base(id)]
	official = official && known.newest != "-"
	bare := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(m.Name), "oci://"), "docker://")
	switch {
	case schema.IsProperty(m.Name):
		message += ": it is a property of the configuration"
		hint = "move it out of features, one level up"
	case ofFolder:
		better = "./" + strings.TrimSuffix(strings.TrimPrefix(m.Name, "/"), "/")
	case bare != m.Name && refusedAs(bare) == "":
		better = bare
	case official && id == path.Base(id):
		better = officialNamespace + "/" + m.Name
	case official && officialMeant.MatchString(path.Dir(id)):
		better = officialNamespace + "/" + path.Base(m.Name)
	case broughtBy[id] != "":
		hint = "write " + officialNamespace + "/" + broughtBy[id]
	}
	f := v.AtName(m, message, hint)
	if better != "" {
		f.Hint = fmt.Sprintf("did you mean %q?", better)
		f = f.Offering(jsonc.Rename(m, better))
	}
	f.Severity = severity
	return []rule.Finding{f}
}

// valueMisread reports what is given to a Feature and ends the reference CLI (nothing for its options, or an object for one of them), and
// what it does not take as it is meant.
func valueMisread(v *rule.View, m jsonc.Member) (out []rule.Finding) {
	switch {
	case m.Value.Kind == jsonc.Null:
		out = append(out, v.AtValue(m.Value, "the reference CLI ends with an error here: null is no object", "write {}"))
	case m.Value.Kind == jsonc.Array:
		f := v.AtValue(m.Value, "options are an object, and nothing of this list is read", `write {"OPTION": "value"}`)
		return append(out, warned(f))
	case m.Value.Is(false):
		f := v.AtValue(m.Value, `the Feature is installed all the same, with "false" for the option version`, "leave the Feature out")
		return append(out, warned(f))
	}
	for _, o := range m.Value.Fields() {
		if o.Value.Kind == jsonc.Object {
			out = append(out, v.AtValue(o.Value, fmt.Sprintf("the reference CLI ends with an error here: the option %s is an object", o.Name),
				"write a text, or true or false"))
		}
	}
	for n := range out {
		out[n].Severity = diag.SeverityError
	}
	return out
}
