package devcontainer

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// frontend is an image that the builder runs to read the Dockerfile, and where
// it is named.
type frontend struct {
	image  string
	report func(rule, message, hint string)
}

// frontends returns those that the Dockerfile and the build's arguments name.
// An argument wins over the file (BuildKit's reference, "BUILDKIT_SYNTAX").
func (c *pass) frontends() []frontend {
	var out []frontend
	add := func(image string, report func(rule, message, hint string)) {
		image, _, _ = strings.Cut(strings.TrimSpace(image), " ")
		if image != "" && !strings.Contains(image, "$") {
			out = append(out, frontend{image, report})
		}
	}
	if c.build != nil {
		doc := c.build.file.Doc
		if image, _, places, ok := parser.DetectSyntax(doc.Src); ok {
			start, end := 0, 0
			if len(places) > 0 {
				start = doc.Offset(places[0].Start.Line, 1)
				if at := bytes.Index(doc.Src[start:], []byte(image)); at >= 0 {
					start += at
					end = start + len(image)
				}
			}
			add(image, func(rule, message, hint string) { c.inBuild(start, max(start, end), rule, message, hint) })
		}
	}
	if n := c.root.Member("build").Member("args").Member("BUILDKIT_SYNTAX"); n != nil {
		add(n.Text, func(rule, message, hint string) { c.at(n, rule, message, hint) })
	}
	for _, a := range c.built {
		if value, ok := strings.CutPrefix(a.value, "BUILDKIT_SYNTAX="); ok && a.flag == "build-arg" {
			add(value, func(rule, message, hint string) { c.at(a.node, rule, message, hint) })
		}
	}
	for _, s := range c.services() {
		for _, v := range s.Get("build").Get("args").Variables() {
			if v.Name == "BUILDKIT_SYNTAX" {
				add(v.Value, func(rule, message, hint string) { c.inCompose(v.Node, rule, message, hint) })
			}
		}
	}
	return out
}

// foreignFrontend reports a program of others, and whatever is newest of it,
// that decides what a Dockerfile means.
func (c *pass) foreignFrontend() {
	for _, f := range c.frontends() {
		name := registryName(f.image)
		if _, _, digest := splitImage(f.image); digest != "" || name == "docker.io/docker/dockerfile" || name == "docker.io/docker/dockerfile-upstream" {
			continue
		}
		f.report("SBX728", fmt.Sprintf("%s is not the builder's own reader of Dockerfiles, and not pinned", f.image), "use docker/dockerfile, or pin it: NAME:TAG@sha256:…")
	}
}
