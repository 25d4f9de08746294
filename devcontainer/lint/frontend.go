package lint

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// frontend is an image that the builder runs to read the Dockerfile, and where
// it is named.
type frontend struct {
	image string
	at    rights.Place
}

// frontends returns those that the Dockerfile and the build's arguments name.
// An argument wins over the file (BuildKit's reference, "BUILDKIT_SYNTAX").
func frontends(v *rule.View) []frontend {
	var out []frontend
	add := func(image string, at rights.Place) {
		image, _, _ = strings.Cut(strings.TrimSpace(image), " ")
		if image != "" && !strings.Contains(image, "$") {
			out = append(out, frontend{image, at})
		}
	}
	if v.Build != nil {
		doc := v.Build.File.Doc
		if image, places, ok := dockerfile.Syntax(doc.Src); ok {
			start, end := 0, 0
			if len(places) > 0 {
				start = doc.Offset(places[0].Start.Line, 1)
				if at := bytes.Index(doc.Src[start:], []byte(image)); at >= 0 {
					start += at
					end = start + len(image)
				}
			}
			add(image, rights.Place{Doc: doc, Start: start, End: max(start, end)})
		}
	}
	if v.Build != nil {
		for _, image := range raised(v.Build.File.Doc.Src) {
			add(image, rights.Place{Doc: v.Build.File.Doc})
		}
	}
	for _, r := range v.Of(rights.BuildArg) {
		if r.Name == "BUILDKIT_SYNTAX" {
			add(r.Value, r.Place)
		}
	}
	return out
}

// directive matches what the reference CLI 0.89 (extractPreamble) takes for a directive.
var directive = lazyregexp.New(`^\s*#\s*(\S+)\s*=\s*(.+)`)

// raised returns the reader of Dockerfiles that the reference CLI writes to the top of the Dockerfile that it makes, where BuildKit takes
// the line for a comment as it stands.
func raised(src []byte) []string {
	if _, _, ok := dockerfile.Syntax(src); ok {
		return nil
	}
	for line := range bytes.Lines(src) {
		m := directive.FindSubmatch(bytes.TrimRight(line, "\r\n"))
		switch {
		case m == nil:
			return nil
		case string(m[1]) == "syntax":
			return []string{string(m[2])}
		}
	}
	return nil
}

// foreignFrontend reports a program of others, and whatever is newest of it,
// that decides what a Dockerfile means.
func foreignFrontend(v *rule.View) (out []rule.Finding) {
	for _, f := range frontends(v) {
		name := rights.RegistryName(f.image)
		if _, _, digest := rights.SplitImage(f.image); digest != "" || name == "docker.io/docker/dockerfile" ||
			name == "docker.io/docker/dockerfile-upstream" {
			continue
		}
		out = append(out, rule.Finding{Place: f.at,
			Message: fmt.Sprintf("%s is not the builder's own reader of Dockerfiles, and not pinned", f.image),
			Hint:    "use docker/dockerfile, or pin it: NAME:TAG@sha256:…"})
	}
	return out
}
