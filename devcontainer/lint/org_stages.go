package lint

import (
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// targetVaries reports whether a variable names the stage that becomes the container.
func targetVaries(v *rule.View) bool {
	varies := strings.Contains(v.Root.Member("build").Member("target").TextOr(""), "$")
	for _, a := range v.BuildArgs {
		varies = varies || a.Flag == "target" && strings.Contains(a.Value, "$")
	}
	if s := v.Composed.Dev(); s != nil {
		varies = varies || s.Get("build").Get("target").Varies()
	}
	return varies
}

// imagesOf returns what a Dockerfile starts from and takes files from. targetVaries says that a variable names the last stage.
func imagesOf(v *rule.View, b *devcontainer.Build, targetVaries bool) (out []namedImage) {
	if b == nil {
		return nil
	}
	add := func(name string, start, end int) {
		out = append(out, namedImage{name, rights.Place{Doc: b.File.Doc, Start: start, End: end}})
	}
	stages, instructionsOf := b.Needed, b.Instructions()
	if targetVaries || slices.ContainsFunc(b.Needed, func(s *dockerfile.Stage) bool { return hostDecides(v, baseOf(s)) }) {
		stages, instructionsOf = b.File.Stages, nil // on another host others are needed
		for _, s := range stages {
			instructionsOf = append(instructionsOf, s.Instructions...)
		}
	}
	for _, s := range stages {
		name := baseOf(s)
		start, end := s.From.Find(name)
		for _, platform := range byPlatform(name) {
			switch {
			case platform == name && s.Parent == nil:
				add(s.Image, start, end)
			case platform != name && b.File.Target(platform) == nil:
				add(platform, start, end)
			}
		}
	}
	for _, s := range b.SourcesOf(instructionsOf) {
		if !v.BuildContext(s.Image) {
			add(s.Image, s.Start, s.End)
		}
	}
	for _, i := range instructionsOf {
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

// baseOf is what a stage starts from, as its FROM says it.
func baseOf(s *dockerfile.Stage) string {
	if from, ok := s.From.Command.(*instructions.Stage); ok {
		return from.BaseName
	}
	return ""
}

// ofBuilder matches the variables that a builder sets by itself.
var ofBuilder = lazyregexp.New(`\$\{?(?:TARGET|BUILD)(?:PLATFORM|OS|ARCH|VARIANT)\b`)

// hostDecides reports whether a text of a Dockerfile has a variable that the host or the builder sets.
func hostDecides(v *rule.View, text string) bool {
	if !strings.Contains(text, "$") {
		return false
	}
	return ofBuilder.MatchString(text) || slices.ContainsFunc(v.Of(rights.BuildArg), func(r rights.Right) bool {
		return r.Host != "" && strings.Contains(text, r.Name)
	})
}

// The builder's own variables that have the same values everywhere.
var (
	archVariable = lazyregexp.New(`\$(?:\{(?:TARGET|BUILD)ARCH(?::?-[^}]*)?\}|(?:TARGET|BUILD)ARCH\b)`)
	osVariable   = lazyregexp.New(`\$(?:\{(?:TARGET|BUILD)OS(?::?-[^}]*)?\}|(?:TARGET|BUILD)OS\b)`)
)

// byPlatform returns what the name of an image is on each usual platform, where the builder's own variables in it say the platform.
func byPlatform(name string) (out []string) {
	for _, arch := range []string{"amd64", "arm64"} {
		of := osVariable.ReplaceAllString(archVariable.ReplaceAllString(name, arch), "linux")
		if of == name {
			return []string{name}
		}
		out = append(out, of)
	}
	return out
}

// takesFrom matches the image in the options of COPY and of RUN.
var takesFrom = lazyregexp.New(`(?i)\bfrom=([^\s,]+)`)
