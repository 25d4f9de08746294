package devcontainer

import (
	"fmt"
	"path"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// reporter reports what a policy says at a place.
type reporter func(message, hint string)

// orgImages looks at every image that the container, the containers beside it
// and their builds take something from.
func (c *pass) orgImages() {
	if n := c.root.Member("image"); n != nil && n.Kind == jsonc.String && !c.builds() {
		c.orgImage(n.Text, func(m, h string) { c.at(n, "SBX606", m, h) })
	}
	if c.build != nil {
		c.orgBuild(c.build, func(start, end int) reporter {
			return func(m, h string) { c.inBuild(start, end, "SBX606", m, h) }
		})
	}
	for _, f := range c.frontends() {
		c.orgImage(f.image, func(m, h string) { f.report("SBX606", m, h) })
	}
	for _, n := range texts(c.root.Member("build").Member("cacheFrom")) {
		c.orgImage(cacheSource(n.Text), func(m, h string) { c.at(n, "SBX606", m, h) })
	}
	for _, a := range c.built {
		report := func(m, h string) { c.at(a.node, "SBX606", m, h) }
		_, image, _ := strings.Cut(a.value, "docker-image://")
		switch a.flag {
		case "build-context":
			c.orgImage(image, report)
		case "cache-from":
			c.orgImage(cacheSource(a.value), report)
		}
	}
	c.orgRemote()
	for _, s := range c.services() {
		c.orgService(s)
	}
}

// orgImage judges one image by its name. What depends on a variable can be
// anything, which a list of what is allowed does not allow.
func (c *pass) orgImage(image string, report reporter) {
	switch {
	case image == "" || image == "scratch" || strings.Contains(image, "${templateOption:"):
	case strings.Contains(image, "$"):
		if allow := c.Org.doc.Root.Member("registries").Member("allow"); allow != nil {
			report(fmt.Sprintf("the image %s depends on a variable, so it may come from anywhere", image), c.Org.at(allow)+" lists what is allowed")
		}
	default:
		full := registryName(image)
		if why, where := c.Org.judge("registries", func(e string) bool { return registryMatch(e, full) }); why != "" {
			report(fmt.Sprintf("the image %s: %s", image, why), where)
		}
	}
}

// orgBuild judges what a Dockerfile starts from and takes files from.
func (c *pass) orgBuild(b *build, at func(start, end int) reporter) {
	for _, s := range b.needed {
		if from, ok := s.From.Command.(*instructions.Stage); ok && s.Parent == nil {
			c.orgImage(s.Image, at(s.From.Find(from.BaseName)))
		}
	}
	for _, s := range b.sources() {
		if !c.buildContext(s.image) {
			c.orgImage(s.image, at(s.start, s.end))
		}
	}
}

func (c *pass) orgService(s *compose.Service) {
	in := func(n *compose.Node) reporter { return func(m, h string) { c.inCompose(n, "SBX606", m, h) } }
	b := s.Get("build")
	context, file, target, builds := s.Build()
	if n := s.Get("image"); !builds && n != nil {
		c.orgImage(n.String(), in(n))
	}
	for _, n := range b.Get("cache_from").Scalars() {
		c.orgImage(cacheSource(n.Text), in(n))
	}
	for _, v := range b.Get("additional_contexts").Variables() {
		if image, ok := strings.CutPrefix(v.Value, "docker-image://"); ok {
			c.orgImage(image, in(v.Node))
		}
	}
	if n := b.Get("dockerfile_inline"); n != nil {
		made := &build{file: dockerfile.Parse("", []byte(n.Text), dockerfile.Options{})}
		made.final = made.file.Target(target)
		made.needed = made.file.Reachable(made.final)
		c.orgBuild(made, func(int, int) reporter { return in(n) })
		return
	}
	if dev := c.composed.dev(); !builds || dev != nil && dev.Name == s.Name || strings.ContainsAny(context+file, "$:") || path.IsAbs(context) || path.IsAbs(file) {
		return // the dev container's own is c.build
	}
	doc := c.readable(path.Join(path.Dir(c.composed.first), context, file))
	if doc == nil {
		return
	}
	c.also(doc)
	made := &build{file: dockerfile.Parse(doc.File, doc.Src, dockerfile.Options{})}
	made.final = made.file.Target(target)
	made.needed = made.file.Reachable(made.final)
	c.orgBuild(made, func(start, end int) reporter {
		return func(m, h string) { c.in(doc, start, end, "", "SBX606", m, h) }
	})
}

// cacheSource returns the image that a source of build caches names, "" for one
// that is none.
func cacheSource(s string) string {
	if !strings.Contains(s, "=") {
		return s
	}
	kind, ref := "", ""
	for _, field := range mountFields(s) {
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
