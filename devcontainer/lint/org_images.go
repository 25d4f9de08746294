package lint

import (
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
	for _, a := range v.BuildArgs {
		switch a.Flag {
		case "build-context":
			_, name, _ := strings.Cut(a.Value, "docker-image://")
			property(name, a.Node)
		case "cache-from":
			property(cacheSource(a.Value), a.Node)
		}
	}
	for _, s := range v.ComposeServices() {
		for _, i := range serviceBuild(v, s) {
			image(i.name, i.at)
		}
	}
	return out
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
			add(s.Image, start, end)
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

// takesFrom matches the image in the options of COPY and of RUN.
var takesFrom = lazyregexp.New(`(?i)\bfrom=([^\s,]+)`)

// serviceBuild returns the images that the build of a service takes something from.
func serviceBuild(v *rule.View, s *compose.Service) (out []namedImage) {
	add := func(name string, n *compose.Node) {
		out = append(out, namedImage{name, rights.Place{Doc: n.Doc, Start: n.Start, End: n.End}})
	}
	b := s.Get("build")
	context, file, target, builds := s.Build()
	for _, n := range b.Get("cache_from").Scalars() {
		add(cacheSource(n.Text), n)
	}
	for _, variable := range b.Get("additional_contexts").Variables() {
		if image, ok := strings.CutPrefix(variable.Value, "docker-image://"); ok {
			add(image, variable.Node)
		}
	}
	if n := b.Get("dockerfile_inline"); n != nil {
		for _, i := range imagesOf(v, buildOf("", []byte(n.Text), target)) {
			add(i.name, n)
		}
		return out
	}
	dev := v.Composed.Dev()
	isDev := dev != nil && dev.Name == s.Name // whose build is v.Build
	inProject := !strings.ContainsAny(context+file, "$:") && !path.IsAbs(context) && !path.IsAbs(file)
	if !builds || isDev || !inProject {
		return out
	}
	doc := v.Readable(path.Join(path.Dir(v.Composed.First), context, file))
	if doc == nil {
		return out
	}
	v.Also(doc)
	return append(out, imagesOf(v, buildOf(doc.File, doc.Src, target))...)
}

func buildOf(name string, src []byte, target string) *devcontainer.Build {
	made := &devcontainer.Build{File: dockerfile.Parse(name, src, dockerfile.Options{})}
	made.Final = made.File.Target(target)
	made.Needed = made.File.Reachable(made.Final)
	return made
}

// cacheSource returns the image that a source of build caches names, "" for one
// that is none.
func cacheSource(s string) string {
	if !strings.Contains(s, "=") {
		return s
	}
	kind, ref := "", ""
	for _, field := range rights.MountFields(s) {
		key, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch key {
		case "type":
			kind = value
		case "ref":
			ref = value
		}
	}
	if kind != "registry" {
		return ""
	}
	return ref
}
