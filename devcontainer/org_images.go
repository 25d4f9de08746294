package devcontainer

import (
	"fmt"
	"path"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// policyRegistries compares where everything comes from with the policy: every
// image that the container, the containers next to it and their builds take
// something from, Features, and what Compose fetches.
func policyRegistries(v *view) []finding {
	if v.Org == nil {
		return nil
	}
	out := append(v.featureRegistries(), v.remoteRegistries()...)
	image := func(name string, at rights.Place) {
		if message, hint := v.Org.image(name); message != "" {
			out = append(out, finding{Place: at, message: message, hint: hint})
		}
	}
	property := func(name string, n *jsonc.Node) {
		image(name, rights.Place{Doc: v.Config, Start: n.Start, End: n.End, Pointer: n.Pointer})
	}
	if n := v.root.Member("image"); n != nil && n.Kind == jsonc.String && !v.builds() {
		property(n.Text, n)
	}
	for _, s := range v.imagesOf(v.Build) {
		image(s.name, s.at)
	}
	for _, f := range v.frontends() {
		image(f.image, f.at)
	}
	for _, n := range rights.Texts(v.root.Member("build").Member("cacheFrom")) {
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
	for _, s := range v.services() {
		for _, i := range v.serviceImages(s) {
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

// image judges one image by its name: "" or why it is refused. What depends on
// a variable can be anything, which a list of what is allowed does not allow.
func (o *Org) image(name string) (why, where string) {
	switch {
	case name == "" || name == "scratch" || strings.Contains(name, "${templateOption:"):
		return "", ""
	case strings.Contains(name, "$"):
		allow := o.doc.Root.Member("registries").Member("allow")
		if allow == nil {
			return "", ""
		}
		return fmt.Sprintf("the image %s depends on a variable, so it may come from anywhere", name), o.at(allow) + " lists what is allowed"
	}
	full := registryName(name)
	if why, where = o.judge("registries", func(e string) bool { return registryMatch(e, full) }); why != "" {
		why = fmt.Sprintf("the image %s: %s", name, why)
	}
	return why, where
}

// imagesOf returns what a Dockerfile starts from and takes files from.
func (v *view) imagesOf(b *Build) (out []namedImage) {
	if b == nil {
		return nil
	}
	add := func(name string, start, end int) {
		out = append(out, namedImage{name, rights.Place{Doc: b.file.Doc, Start: start, End: end}})
	}
	for _, s := range b.needed {
		if from, ok := s.From.Command.(*instructions.Stage); ok && s.Parent == nil {
			start, end := s.From.Find(from.BaseName)
			add(s.Image, start, end)
		}
	}
	for _, s := range b.sources() {
		if !v.buildContext(s.image) {
			add(s.image, s.start, s.end)
		}
	}
	return out
}

// serviceImages returns what a service and its build take something from.
func (v *view) serviceImages(s *compose.Service) (out []namedImage) {
	add := func(name string, n *compose.Node) {
		out = append(out, namedImage{name, rights.Place{Doc: n.Doc, Start: n.Start, End: n.End}})
	}
	b := s.Get("build")
	context, file, target, builds := s.Build()
	if n := s.Get("image"); !builds && n != nil {
		add(n.String(), n)
	}
	for _, n := range b.Get("cache_from").Scalars() {
		add(cacheSource(n.Text), n)
	}
	for _, variable := range b.Get("additional_contexts").Variables() {
		if image, ok := strings.CutPrefix(variable.Value, "docker-image://"); ok {
			add(image, variable.Node)
		}
	}
	if n := b.Get("dockerfile_inline"); n != nil {
		for _, i := range v.imagesOf(buildOf("", []byte(n.Text), target)) {
			add(i.name, n)
		}
		return out
	}
	if dev := v.Composed.dev(); !builds || dev != nil && dev.Name == s.Name || strings.ContainsAny(context+file, "$:") || path.IsAbs(context) || path.IsAbs(file) {
		return out // the dev container's own is v.Build
	}
	doc := v.readable(path.Join(path.Dir(v.Composed.first), context, file))
	if doc == nil {
		return out
	}
	v.also(doc)
	return append(out, v.imagesOf(buildOf(doc.File, doc.Src, target))...)
}

func buildOf(name string, src []byte, target string) *Build {
	made := &Build{file: dockerfile.Parse(name, src, dockerfile.Options{})}
	made.final = made.file.Target(target)
	made.needed = made.file.Reachable(made.final)
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
