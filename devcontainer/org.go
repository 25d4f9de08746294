package devcontainer

import (
	"fmt"
	"path"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Org is an organisation's policy: what its configurations may hold. Each part
// has up to three lists: allow names all that may be there, forbid what may
// not, require what must.
//
//	registries    images and Features by where they come from: HOST/PATH
//	features      Features, by id without version or by its last part
//	capabilities  what capAdd, runArgs and cap_add add
//	extensions    of VS Code, PUBLISHER.NAME
//	mounts        sources on the host: /PATH, ~/PATH
//	properties    top-level names of devcontainer.json
//
// A * in an entry stands for anything but a slash.
type Org struct{ doc *jsonc.Document }

var orgLists = object(map[string]shape{"allow": list, "forbid": list, "require": list})

var orgLimits = object(map[string]shape{"allow": list, "forbid": list})

var orgShape = object(map[string]shape{"$schema": text, "registries": orgLimits, "features": orgLists, "capabilities": orgLimits,
	"extensions": orgLists, "mounts": orgLimits, "properties": object(map[string]shape{"forbid": list, "require": list})})

// ParseOrg reads a policy. It is nil when a finding is an error.
func ParseOrg(file string, src []byte) (*Org, []diag.Finding) {
	p := Parse(file, src)
	c := newPass(p)
	if c.root != nil {
		c.check(c.root, orgShape)
	} else if p.Config.Root != nil {
		c.at(p.Config.Root, "SBX202", "a policy is an object", "")
	}
	findings := c.collected()
	if diag.Worst(findings, diag.SeverityError) > 0 {
		return nil, findings
	}
	return &Org{p.Config}, findings
}

// entries returns one of the policy's lists; none when there is no policy.
func (o *Org) entries(part, list string) []*jsonc.Node {
	if o == nil {
		return nil
	}
	return texts(o.doc.Root.Member(part).Member(list))
}

// at quotes the place of an entry, or of a list.
func (o *Org) at(n *jsonc.Node) string {
	line, column := o.doc.Position(n.Start)
	return fmt.Sprintf("%s:%d:%d", o.doc.File, line, column)
}

// judge says whether something may be there: "" or why not, and which place of
// the policy says so.
func (o *Org) judge(part string, match func(entry string) bool) (why, where string) {
	for _, n := range o.entries(part, "forbid") {
		if match(n.Text) {
			return fmt.Sprintf("the policy forbids %s", n.Text), o.at(n) + " forbids it"
		}
	}
	if o == nil {
		return "", ""
	}
	allow := o.doc.Root.Member(part).Member("allow")
	if allow == nil {
		return "", ""
	}
	for _, n := range texts(allow) {
		if match(n.Text) {
			return "", ""
		}
	}
	return "it is not among what the policy allows", o.at(allow) + " lists what is allowed"
}

// organisation compares the project with the policy.
func (c *pass) organisation() {
	if c.Org == nil {
		return
	}
	c.orgImages()
	c.orgFeatures()
	c.orgCapabilities()
	c.orgExtensions()
	c.orgMounts()
	c.orgProperties()
}

// orgImages looks at every image that the container is made from.
func (c *pass) orgImages() {
	say := func(image string, report func(message, hint string)) {
		if image == "" || image == "scratch" || strings.Contains(image, "$") {
			return
		}
		full := registryName(image)
		if why, where := c.Org.judge("registries", func(e string) bool { return registryMatch(e, full) }); why != "" {
			report(fmt.Sprintf("the image %s: %s", image, why), where)
		}
	}
	if n := c.root.Member("image"); n != nil && n.Kind == jsonc.String && !c.builds() {
		say(n.Text, func(m, h string) { c.at(n, "SBX606", m, h) })
	}
	if c.build != nil {
		for _, s := range c.build.needed {
			if from, ok := s.From.Command.(*instructions.Stage); ok && s.Parent == nil && s.Known {
				start, end := s.From.Find(from.BaseName)
				say(s.Image, func(m, h string) { c.inBuild(start, end, "SBX606", m, h) })
			}
		}
	}
	if c.composed != nil {
		for _, s := range c.composed.project.Services() {
			n := s.Get("image")
			if _, _, _, builds := s.Build(); !builds && n != nil {
				say(n.String(), func(m, h string) { c.inCompose(n, "SBX606", m, h) })
			}
		}
	}
}

// registryName writes an image's or Feature's name out: Docker Hub is what a
// name without a registry means.
func registryName(s string) string {
	name, _, _ := splitImage(s)
	first, rest, slash := strings.Cut(name, "/")
	switch {
	case slash && (strings.ContainsAny(first, ".:") || first == "localhost"):
		return strings.ToLower(first + "/" + rest)
	case slash:
		return strings.ToLower("docker.io/" + name)
	}
	return strings.ToLower("docker.io/library/" + name)
}

// registryMatch compares whole parts of a name, so that ghcr.io/acme is not
// ghcr.io/acme-evil.
func registryMatch(entry, name string) bool {
	want, have := strings.Split(strings.ToLower(strings.Trim(entry, "/")), "/"), strings.Split(name, "/")
	if len(want) > len(have) {
		return false
	}
	for i := range want {
		if ok, err := path.Match(want[i], have[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

func (c *pass) orgFeatures() {
	features := c.root.Member("features")
	matches := func(id string) func(string) bool {
		name, _, _ := splitImage(id)
		return func(entry string) bool {
			return registryMatch(entry, strings.ToLower(name)) || strings.EqualFold(entry, path.Base(name))
		}
	}
	if features != nil {
		for _, m := range features.Members {
			if sourceOf(m.Name) == registryFeature {
				full := registryName(m.Name)
				if why, where := c.Org.judge("registries", func(e string) bool { return registryMatch(e, full) }); why != "" {
					c.name(m, "SBX606", fmt.Sprintf("the Feature %s: %s", m.Name, why), where)
				}
			}
			if why, where := c.Org.judge("features", matches(m.Name)); why != "" {
				c.name(m, "SBX611", fmt.Sprintf("the Feature %s: %s", m.Name, why), where)
			}
		}
	}
	for _, n := range c.Org.entries("features", "require") {
		found := false
		if features != nil {
			for _, m := range features.Members {
				found = found || matches(m.Name)(n.Text)
			}
		}
		if !found {
			c.missing(features, "SBX611", fmt.Sprintf("the policy requires the Feature %s", n.Text), c.Org.at(n)+" requires it")
		}
	}
}

func (c *pass) orgCapabilities() {
	judge := func(name string, report func(message, hint string)) {
		name = capabilityName(name)
		if why, where := c.Org.judge("capabilities", func(e string) bool { return capabilityName(e) == name }); why != "" {
			report(fmt.Sprintf("the capability %s: %s", name, why), where)
		}
	}
	for _, n := range texts(c.root.Member("capAdd")) {
		judge(n.Text, func(m, h string) { c.at(n, "SBX414", m, h) })
	}
	for _, a := range c.args {
		if a.flag == "cap-add" {
			judge(a.value, func(m, h string) { c.at(a.node, "SBX414", m, h) })
		}
	}
	if c.composed != nil {
		for _, s := range c.composed.project.Services() {
			for _, n := range s.Get("cap_add").Scalars() {
				judge(n.Text, func(m, h string) { c.inCompose(n, "SBX414", m, h) })
			}
		}
	}
}

func (c *pass) orgExtensions() {
	extensions := c.root.Member("customizations").Member("vscode").Member("extensions")
	matches := func(id string) func(string) bool {
		id, _, _ = strings.Cut(strings.ToLower(id), "@")
		return func(entry string) bool {
			ok, err := path.Match(strings.ToLower(entry), id)
			return err == nil && ok
		}
	}
	for _, n := range texts(extensions) {
		if strings.HasPrefix(n.Text, "-") {
			continue // takes one out that an image or a Feature brings
		}
		if why, where := c.Org.judge("extensions", matches(n.Text)); why != "" {
			c.at(n, "SBX607", fmt.Sprintf("the extension %s: %s", n.Text, why), where)
		}
	}
	for _, n := range c.Org.entries("extensions", "require") {
		found := false
		for _, e := range texts(extensions) {
			found = found || matches(n.Text)(e.Text) || matches(e.Text)(n.Text)
		}
		if !found {
			c.missing(extensions, "SBX607", fmt.Sprintf("the policy requires the extension %s", n.Text), c.Org.at(n)+" requires it")
		}
	}
}

func (c *pass) orgMounts() {
	judge := func(m mount, report func(message, hint string)) {
		from := origin(m.source)
		name := m.source
		switch from.base {
		case "/":
			name = "/" + strings.TrimPrefix(from.path, ".")
		case "home":
			name = path.Join("~", from.path)
		case "workspace":
			if from.path != ".." && !strings.HasPrefix(from.path, "../") {
				return // the project's own
			}
		}
		if m.kind != "bind" && m.kind != "npipe" {
			return
		}
		if why, where := c.Org.judge("mounts", func(e string) bool { return pathMatch(e, name) }); why != "" {
			report(fmt.Sprintf("the mount of %s: %s", m.source, why), where)
		}
	}
	for _, m := range c.mounts {
		judge(m, func(message, hint string) { c.at(m.node, "SBX415", message, hint) })
	}
	if c.composed != nil {
		for _, s := range c.composed.project.Services() {
			for _, n := range volumesOf(s) {
				judge(c.composed.volume(n), func(message, hint string) { c.inCompose(n, "SBX415", message, hint) })
			}
		}
	}
}

// pathMatch reports whether a path is an entry or lies below it. An absolute
// path and one below the home folder are never the same.
func pathMatch(entry, name string) bool {
	entry, name = path.Clean(entry), path.Clean(name)
	if path.IsAbs(entry) != path.IsAbs(name) {
		return false
	}
	want, have := strings.Split(strings.Trim(entry, "/"), "/"), strings.Split(strings.Trim(name, "/"), "/")
	if entry == "/" {
		return true
	}
	for i := range want {
		if i >= len(have) {
			return false
		}
		if ok, err := path.Match(want[i], have[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

func (c *pass) orgProperties() {
	for _, n := range c.Org.entries("properties", "forbid") {
		if v := c.root.Member(n.Text); v != nil && v.Kind != jsonc.Null && !v.Is(false) {
			c.at(v, "SBX416", fmt.Sprintf("the policy forbids %s", n.Text), c.Org.at(n)+" forbids it")
		}
	}
	for _, n := range c.Org.entries("properties", "require") {
		if c.root.Member(n.Text) == nil {
			c.missing(nil, "SBX416", fmt.Sprintf("the policy requires %s", n.Text), c.Org.at(n)+" requires it")
		}
	}
}
