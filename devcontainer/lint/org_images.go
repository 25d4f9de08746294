package lint

import (
	"fmt"
	"path"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// policyRegistries compares where everything comes from with the policy: every
// image that the container, the containers next to it and their builds take
// something from, Features, and what Compose fetches.
func policyRegistries(v *rule.View) []rule.Finding {
	if v.Org == nil {
		return nil
	}
	out := append(featureRegistries(v), remoteRegistries(v)...)
	image := func(name string, at rights.Place) {
		if message, hint := v.Org.Image(name); message != "" {
			out = append(out, rule.Finding{Place: at, Message: message, Hint: hint})
		}
	}
	property := func(name string, n *jsonc.Node) {
		image(name, rights.Place{Doc: v.Config, Start: n.Start, End: n.End, Pointer: n.Pointer})
	}
	for _, r := range v.Of(rights.Image) {
		image(r.Value, r.Place)
	}
	for _, r := range v.Of(rights.Mounted) {
		if r.Mount.Type == "image" {
			image(r.Mount.Source, r.SourceAt)
		}
	}
	for _, s := range imagesOf(v, v.Build) {
		image(s.name, s.at)
	}
	for _, f := range frontends(v) {
		image(f.image, f.at)
	}
	for _, n := range rights.Texts(v.Root.Member("build").Member("cacheFrom")) {
		property(cacheSource(n.Text), n)
	}
	if n := rights.RunOptions.Stray(v.EngineOnly("runArgs")); n != nil { // docker run's image
		property(n.TextOr(""), n)
	}
	for _, a := range v.BuildArgs {
		switch a.Flag {
		case "build-context":
			_, source, _ := strings.Cut(a.Value, "=")
			property(contextImage(source), a.Node)
			if why, where := judgeRemote(v, source); why != "" {
				out = append(out, v.AtValue(a.Node, fmt.Sprintf("the context %s: %s", source, why), where))
			}
		case "cache-from", "sbom", "attest":
			property(cacheSource(a.Value), a.Node)
			property(field(a.Value, "generator"), a.Node)
		}
	}
	if models := composeModels(v); models != nil {
		for _, m := range models.Members {
			if n := m.Value.Get("model"); n != nil {
				image(n.String(), rule.ComposePlace(n))
			}
		}
	}
	for _, s := range v.ComposeServices() {
		for _, i := range serviceBuild(v, s) {
			image(i.name, i.at)
		}
	}
	return out
}

// composeModels are what Compose fetches as it does images.
func composeModels(v *rule.View) *compose.Node {
	if v.Composed == nil {
		return nil
	}
	return v.Composed.Project.Root.Get("models")
}

// namedImage is an image and where it is named.
type namedImage struct {
	name string
	at   rights.Place
}

// imagesOf returns what a Dockerfile starts from and takes files from.
func imagesOf(v *rule.View, b *devcontainer.Build) (out []namedImage) {
	if b == nil {
		return nil
	}
	add := func(name string, start, end int) {
		out = append(out, namedImage{name, rights.Place{Doc: b.File.Doc, Start: start, End: end}})
	}
	for _, s := range b.Needed {
		if from, ok := s.From.Command.(*instructions.Stage); ok && s.Parent == nil {
			start, end := s.From.Find(from.BaseName)
			for _, name := range byPlatform(s.Image) {
				if b.File.Target(name) == nil || name == s.Image {
					add(name, start, end)
				}
			}
		}
	}
	for _, s := range b.Sources() {
		if !v.BuildContext(s.Image) {
			add(s.Image, s.Start, s.End)
		}
	}
	for _, i := range b.Instructions() {
		if c, ok := i.Command.(*instructions.OnbuildCommand); ok { // what starts from this stage does it
			for _, from := range takesFrom.FindAllStringSubmatch(i.Expand(c.Expression), -1) {
				if name := strings.Trim(from[1], `"'`); b.File.Target(name) == nil && !v.BuildContext(name) {
					add(name, i.Start, i.HeadEnd)
				}
			}
		}
	}
	return out
}

// byPlatform returns what the name of an image is on each usual platform, where the builder's own variables in it say the platform.
func byPlatform(name string) (out []string) {
	for _, arch := range []string{"amd64", "arm64"} {
		of := strings.NewReplacer("${TARGETARCH}", arch, "$TARGETARCH", arch, "${BUILDARCH}", arch, "$BUILDARCH", arch, "${TARGETOS}", "linux",
			"$TARGETOS", "linux", "${BUILDOS}", "linux", "$BUILDOS", "linux").Replace(name)
		if of == name {
			return []string{name}
		}
		out = append(out, of)
	}
	return out
}

// takesFrom matches the image in the options of COPY and of RUN.
var takesFrom = lazyregexp.New(`(?i)\bfrom=([^\s,]+)`)

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
	if image, pulls := s.Get("image"), s.Get("pull_policy").String(); b != nil && pulls != "" && pulls != "build" && pulls != "never" {
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
		for _, i := range imagesOf(v, buildOf("", []byte(n.Text), target, options)) {
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
	return append(out, imagesOf(v, buildOf(doc.File, doc.Src, target, options))...)
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
