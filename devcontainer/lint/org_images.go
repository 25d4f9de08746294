package lint

import (
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// policyRegistries compares where everything comes from with the policy: every
// image that the container, the containers next to it and their builds take
// something from, Features, and what Compose fetches.
func policyRegistries(v *rule.View) []rule.Finding {
	if v.Org == nil {
		return nil
	}
	out := append(featureRegistries(v), remoteRegistries(v)...)
	for _, i := range slices.Concat(containerImages(v), buildImages(v), composeImages(v)) {
		if message, hint := v.Org.Image(i.name); message != "" {
			out = append(out, rule.Finding{Place: i.at, Message: message, Hint: hint})
		}
	}
	return out
}

// containerImages returns what containers are made from and have mounted.
func containerImages(v *rule.View) (out []namedImage) {
	built := map[string]bool{} // by a service, so that Compose pulls them for no other one
	for _, s := range v.ComposeServices() {
		if _, _, _, builds := s.Build(); builds && !pulls(s) {
			built[s.Get("image").String()] = true
		}
	}
	for _, r := range v.Of(rights.Image) {
		if !built[r.Value] {
			out = append(out, namedImage{r.Value, r.Place})
		}
	}
	for _, r := range v.Of(rights.Mounted) {
		if r.Mount.Type == "image" {
			out = append(out, namedImage{r.Mount.Source, r.SourceAt})
		}
	}
	if n := rights.RunOptions.Stray(v.EngineOnly("runArgs")); n != nil { // docker run's image
		out = append(out, namedImage{n.TextOr(""), v.AtValue(n, "", "").Place})
	}
	return out
}

// buildImages returns what the build of the container takes something from.
func buildImages(v *rule.View) []namedImage {
	out := imagesOf(v, v.Build, targetVaries(v))
	for _, f := range frontends(v) {
		out = append(out, namedImage{f.image, f.at})
	}
	property := func(name string, n *jsonc.Node) { out = append(out, namedImage{name, v.AtValue(n, "", "").Place}) }
	for _, r := range v.Of(rights.BuildArg) {
		if r.Name == "BUILDKIT_SYNTAX" && r.Value == "" && r.Host != "" { // from the host, or from .env
			value := "${" + r.Host + "}"
			if v.Composed != nil {
				if set, ok := v.Composed.Project.Variable(r.Host); ok {
					value = set
				}
			}
			out = append(out, namedImage{value, r.Place})
		}
	}
	for _, n := range rights.Texts(v.Root.Member("build").Member("cacheFrom")) {
		property(cacheSource(n.Text), n)
	}
	for _, a := range v.BuildArgs {
		switch a.Flag {
		case "build-context":
			_, source, _ := strings.Cut(a.Value, "=")
			property(contextImage(source), a.Node)
		case "cache-from", "sbom", "attest":
			property(cacheSource(a.Value), a.Node)
			property(field(a.Value, "generator"), a.Node)
		}
	}
	return out
}

// composeImages returns what the builds of services take something from, and models, which Compose fetches as it does images.
func composeImages(v *rule.View) (out []namedImage) {
	if v.Composed == nil {
		return nil
	}
	if models := v.Composed.Project.Root.Get("models"); models != nil {
		for _, m := range models.Members {
			if n := m.Value.Get("model"); n != nil {
				out = append(out, namedImage{n.String(), rule.ComposePlace(n)})
			}
		}
	}
	for _, s := range v.ComposeServices() {
		if n := s.Get("provider").Get("options").Get("model"); n != nil { // of the runner of models
			out = append(out, namedImage{n.String(), rule.ComposePlace(n)})
		}
		out = append(out, serviceBuild(v, s)...)
	}
	return out
}

// pulls reports whether a service takes its image from a registry although it has a build.
func pulls(s *compose.Service) bool {
	policy := s.Get("pull_policy").String()
	return policy != "" && policy != "build" && policy != "never"
}

// namedImage is an image and where it is named.
type namedImage struct {
	name string
	at   rights.Place
}

// serviceBuild returns the images that the build of a service takes something from, and the one that it may take in place of the build.
func serviceBuild(v *rule.View, s *compose.Service) (out []namedImage) {
	add := func(name string, n *compose.Node) {
		if name != "" {
			out = append(out, namedImage{name, rights.Place{Doc: n.Doc, Start: n.Start, End: n.End}})
		}
	}
	b := s.Get("build")
	for _, n := range b.Get("cache_from").Scalars() {
		add(cacheSource(n.Text), n)
	}
	for _, attestation := range []string{"sbom", "provenance"} {
		add(field(b.Get(attestation).String(), "generator"), b.Get(attestation))
	}
	for _, variable := range b.Get("additional_contexts").Variables() {
		add(contextImage(variable.Value), variable.Node)
	}
	if image := s.Get("image"); b != nil && image != nil && pulls(s) {
		add(image.String(), image)
	}
	options := dockerfile.Options{Args: map[string]string{}}
	for _, a := range b.Get("args").Variables() {
		if !a.Set { // the project's variable of that name
			a.Value, a.Set = v.Composed.Project.Variable(a.Name)
		}
		if a.Set && !strings.Contains(a.Value, "$") {
			options.Args[a.Name] = a.Value
		} else {
			options.UnknownArgs = append(options.UnknownArgs, a.Name)
		}
	}
	_, _, target, _ := s.Build()
	if n := b.Get("dockerfile_inline"); n != nil {
		for _, i := range imagesOf(v, buildOf("", []byte(n.Text), target, options), b.Get("target").Varies()) {
			add(i.name, n)
		}
		image, _, _ := dockerfile.Syntax([]byte(n.Text))
		add(image, n)
		return out
	}
	dev := v.Composed.Dev()
	if dev != nil && dev.Name == s.Name && v.Build != nil {
		return out
	}
	doc := v.Readable(serviceDockerfile(v, s))
	if doc == nil {
		return out
	}
	v.Also(doc)
	if image, _, ok := dockerfile.Syntax(doc.Src); ok {
		out = append(out, namedImage{image, rights.Place{Doc: doc}})
	}
	return append(out, imagesOf(v, buildOf(doc.File, doc.Src, target, options), b.Get("target").Varies())...)
}

// serviceDockerfile is the name of the Dockerfile that a service builds, relative to the configuration's folder; "" for none, and for one
// that is not of the project or that a variable names.
func serviceDockerfile(v *rule.View, s *compose.Service) string {
	context, file, _, builds := s.Build()
	if !builds || strings.ContainsAny(context+file, "$:") || path.IsAbs(context) || path.IsAbs(file) {
		return ""
	}
	name := path.Join(path.Dir(v.Composed.First), context, file)
	if devcontainer.LeavesTree(path.Join(v.Dir, name)) {
		return ""
	}
	return name
}

func buildOf(name string, src []byte, target string, options dockerfile.Options) *devcontainer.Build {
	made := &devcontainer.Build{File: dockerfile.Parse(name, src, options)}
	made.Final = made.File.Target(target)
	made.Needed = made.File.Reachable(made.Final)
	return made
}

// contextImage returns the image that is a context of a build, "" for a context that is none. As in BuildKit the slashes may be missing.
func contextImage(source string) string {
	_, name, ok := strings.Cut(source, "docker-image:")
	if !ok {
		return ""
	}
	return strings.TrimPrefix(name, "//")
}

// cacheSource returns the image that a source of build caches names, "" for one
// that is none.
func cacheSource(s string) string {
	switch {
	case !strings.Contains(s, "="):
		return s
	case !strings.EqualFold(field(s, "type"), "registry"):
		return ""
	}
	return field(s, "ref")
}

// field returns the value of a key in a list of KEY=VALUE, as the engine's tools read them; "" without it.
func field(list, name string) (out string) {
	for _, field := range rights.MountFields(list) {
		if key, value, _ := strings.Cut(strings.TrimSpace(field), "="); strings.EqualFold(key, name) {
			out = value
		}
	}
	return out
}
