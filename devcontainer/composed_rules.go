package devcontainer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
)

// inCompose reports a rule at a value of a Compose file, once: extends and
// anchors give one value to several services.
func (c *pass) inCompose(n *compose.Node, rule, message, hint string) *report {
	at := sameFinding{rule, n.Doc.File, n.Start, ""}
	if c.said[at] {
		return &report{} // of no consequence
	}
	c.said[at] = true
	return c.in(n.Doc, n.Start, n.End, "", rule, message, hint)
}

// composeFiles reports files that Compose refuses and a service that is not in
// them.
func (c *pass) composeFiles() {
	if c.composed == nil {
		return
	}
	problems := c.composed.project.Problems
	if whole := len(c.Compose) == len(texts(c.root.Member("dockerComposeFile"))); whole {
		problems = slices.Concat(problems, c.composed.project.Refused())
	}
	for _, p := range problems {
		c.in(p.Doc, p.Start, p.End, "", "SBX316", p.Message, "")
	}
	for _, p := range c.composed.project.Twice {
		c.inCompose(&compose.Node{Doc: p.Doc, Start: p.Start, End: p.End}, "SBX102", p.Message, "Compose 2 refuses the file, older versions take the last one")
	}
	name := c.root.Member("service")
	service, ok := name.Str()
	if !ok || c.composed.service != nil || len(c.composed.project.Problems) > 0 || len(c.composed.project.Unread) > 0 ||
		len(c.Compose) < len(texts(c.root.Member("dockerComposeFile"))) || variable.MatchString(service) {
		return
	}
	var known []string
	for _, s := range c.composed.project.Services() {
		known = append(known, s.Name)
	}
	hint := "the Compose files define no services"
	if len(known) > 0 {
		hint = didYouMean(service, known)
	}
	c.at(name, "SBX313", fmt.Sprintf("the Compose files have no service %q", service), hint)
}

// composeImages looks at how services name their images.
func (c *pass) composeImages() {
	if c.composed == nil {
		return
	}
	for _, s := range c.composed.project.Services() {
		n := s.Get("image")
		if _, _, _, builds := s.Build(); builds || n.String() == "" || strings.Contains(n.Text, "$") {
			continue // with build, image only names the result
		}
		switch name, tag, digest := splitImage(n.Text); {
		case digest != "":
		case tag == "" || tag == "latest":
			c.inCompose(n, "SBX602", fmt.Sprintf("the image %s is whatever was published last", name), "name a version, or better a digest: "+name+":VERSION@sha256:…")
		default:
			c.inCompose(n, "SBX601", fmt.Sprintf("the image %s is not pinned to a digest", n.Text), "add @sha256:…, as the registry reports it")
		}
	}
}
