package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// legacy properties were replaced long ago; tools still move them to their
// new place. Outside the specification are those that some tools invented.
var (
	legacy = map[string]string{
		"extensions": "customizations.vscode.extensions", "settings": "customizations.vscode.settings",
		"devPort": "customizations.vscode.devPort",
	}
	outside = map[string]string{"extends": "the reference tools ignore it; only some others merge the named file"}
)

// config compares the file with the property tables: first which kind of
// configuration it is, then only that kind's table, so that one mistake gives
// one finding.
func (c *comparison) config() {
	root := c.root
	if len(root.Members) == 0 {
		c.missing(root, "SBX205", "nothing says what the container is made from", "add image, build or dockerComposeFile")
		return
	}
	image, build := root.Member("image"), root.Member("build")
	dockerFile, compose := root.Member("dockerFile"), root.Member("dockerComposeFile")
	buildsFile := build.Member("dockerfile") != nil
	switch {
	case compose != nil && (dockerFile != nil || buildsFile || image != nil):
		// A property of either kind may be there: one mistake, one finding.
		c.topLevel(everyKind, nil, "")
		c.extra(compose, "dockerComposeFile", winner(dockerFile, buildsFile)+" wins and the Compose files are ignored")
	case compose != nil:
		c.composeKind(build)
	case dockerFile != nil:
		c.topLevel(dockerFileKind, nil, "")
		if n := build.Member("dockerfile"); n != nil && n.Kind == jsonc.String && dockerFile.Kind == jsonc.String {
			c.extra(n, "build.dockerfile", "dockerFile wins and this is ignored")
		}
		c.extra(image, "image", "dockerFile wins and the image is ignored")
	case buildsFile:
		c.topLevel(buildKind, nil, "")
		c.extra(image, "image", "build.dockerfile wins and the image is ignored")
	case image != nil:
		c.topLevel(imageKind, []string{"build"}, "it is ignored next to image")
	case build != nil:
		c.topLevel(unfinishedKind, nil, "")
		if build.Kind == jsonc.Object && !c.misspelt(build, "dockerfile") && !c.misspelt(root, "dockerFile") {
			c.missing(build, "SBX204", "build lacks \"dockerfile\"", "name the Dockerfile, relative to this file")
		}
	default:
		c.topLevel(everyKind, nil, "")
		if !c.misspelt(root, "image", "build", "dockerFile", "dockerComposeFile") {
			c.missing(root, "SBX205", "nothing says what the container is made from", "add image, build or dockerComposeFile")
		}
	}
}

// winner names what the reference CLI makes the container from when the file
// has it next to dockerComposeFile.
func winner(dockerFile *jsonc.Node, buildsFile bool) string {
	switch {
	case dockerFile != nil:
		return "dockerFile"
	case buildsFile:
		return "build.dockerfile"
	}
	return "image"
}

func (c *comparison) composeKind(build *jsonc.Node) {
	c.topLevel(composeKind, []string{"runArgs", "appPort", "workspaceMount"},
		"it does nothing with Docker Compose; write it in the Compose file, at the service")
	c.require(c.root, "service", "workspaceFolder")
	c.extra(build, "build", "the Compose file says what the container is made from")
}

// require reports the names that n lacks, as one finding.
func (c *comparison) require(n *jsonc.Node, names ...string) {
	var lacks []string
	for _, name := range names {
		if n.Member(name) == nil && !c.misspelt(n, name) {
			lacks = append(lacks, strconv.Quote(name))
		}
	}
	if len(lacks) > 0 {
		c.missing(n, "SBX204", fmt.Sprintf("%s lacks %s", n.Where(), strings.Join(lacks, " and ")), "")
	}
}

// misspelt reports whether a member was already reported as unknown that was
// meant to be one of names: one slip is one finding.
func (c *comparison) misspelt(n *jsonc.Node, names ...string) bool {
	return Misspelt(c.out, n, names...)
}

func (c *comparison) extra(n *jsonc.Node, name, why string) {
	if n != nil {
		c.at(n, "SBX205", fmt.Sprintf("%s: more than one image source: %s", name, why), "keep one")
	}
}

// topLevel checks the root's members; those in noEffect are known but idle.
func (c *comparison) topLevel(props map[string]shape, noEffect []string, why string) {
	for _, m := range inForce(c.root) {
		p, known := props[m.Name]
		_, elsewhere := everyKind[m.Name]
		switch {
		case known:
			c.check(m.Value, p)
		case legacy[m.Name] != "":
			moved := c.name(m, "SBX207", fmt.Sprintf("%q is a legacy property", m.Name), "move it to "+legacy[m.Name])
			moved.fix(c.moveLegacy(m))
			moved.offer(c.mergeLegacy(m))
		case outside[m.Name] != "":
			c.name(m, "SBX208", fmt.Sprintf("%q is not in the specification", m.Name), outside[m.Name])
		case slices.Contains(noEffect, m.Name):
			c.name(m, "SBX206", fmt.Sprintf("%q has no effect here", m.Name), why)
		case isSource(m.Name):
			// extra says it, with what wins.
		case elsewhere:
			c.name(m, "SBX206", fmt.Sprintf("%q has no effect here", m.Name), beside[m.Name])
		default:
			c.unknown(c.root, m, props)
		}
	}
}

// beside says where properties are read that only some kinds of configurations have.
var beside = map[string]string{"context": `write it into build, next to "dockerfile"`,
	"service": "it is read only next to dockerComposeFile", "runServices": "it is read only next to dockerComposeFile"}

// Sources are the properties that a container is made from.
var Sources = []string{"image", "build", "dockerFile", "dockerComposeFile"}

func isSource(name string) bool { return slices.Contains(Sources, name) }
