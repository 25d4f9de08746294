package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// imageNames reports names of images that no registry can have.
func imageNames(v *rule.View) (out []rule.Finding) {
	if v.ByCompose() {
		for _, s := range neighbours(v) {
			if n := s.Get("image"); n.String() != "" && s.Get("build") == nil {
				if message, hint, severity := imageRefused(n.Text); message != "" {
					f := rule.AtCompose(n, message, hint)
					f.Severity = severity
					out = append(out, f)
				}
			}
		}
	}
	for _, r := range v.Of(rights.Image) {
		if message, hint, severity := imageRefused(r.Value); message != "" && r.Own() {
			f := rule.AtRight(r, message, hint)
			f.Severity = severity
			out = append(out, f)
		} else if instead := baseimage.Misnamed(r.Value); instead != "" && r.Own() {
			f := rule.AtRight(r, fmt.Sprintf("Microsoft publishes no image %s for dev containers", r.Value),
				fmt.Sprintf("did you mean %s?", instead))
			f.Severity = diag.SeverityWarning
			out = append(out, f)
		}
	}
	for _, i := range builtFrom(v) {
		if message, hint, severity := imageRefused(i.name); message != "" {
			f := v.AtDockerfile(i.at.Start, i.at.End, message, hint)
			f.Severity = severity
			if v.Bare && i.name == strings.ToUpper(i.name) { // a placeholder: some program may fill it in before it builds the file
				f.Severity, f.Hint = diag.SeverityWarning, "put the name of an image in its place"
			}
			out = append(out, f)
		}
	}
	return out
}

// builtFrom returns the images of each FROM, those that nothing needs too, because the builder reads their names
// before it looks for what it needs, and those that COPY and mounts take files of.
func builtFrom(v *rule.View) (out []namedImage) {
	if v.Build == nil {
		return nil
	}
	for _, s := range v.Build.File.Stages {
		from, ok := s.From.Command.(*instructions.Stage)
		if !ok || s.Parent != nil || !s.Known || v.Bare && strings.Contains(from.BaseName, "$") { // a build may give the value
			continue
		}
		start, end := s.From.Find(from.BaseName)
		out = append(out, namedImage{name: s.Image, at: rights.Place{Start: start, End: end}})
	}
	for _, s := range v.Build.Sources() {
		out = append(out, namedImage{name: s.Image, at: rights.Place{Start: s.Start, End: s.End}})
	}
	return out
}

// versionForName matches an image whose name is a version, as if a slash began the tag.
var versionForName = lazyregexp.New(`^([a-z-]+)/(\d+\.[\d.]+(?:-[a-z0-9.-]+)?)$`)

// goneImage says of an image that no registry has it (November 2026): Elastic publishes no latest, and Bitnami's versions moved
// to bitnamilegacy in August 2025.
func goneImage(text string) (message, hint string) {
	if !strings.Contains(text, "bitnami/") && !strings.Contains(text, "elastic") && !strings.Contains(text, "kibana") &&
		!strings.Contains(text, "logstash") {
		return "", ""
	}
	name, tag, digest := rights.SplitImage(text)
	name = strings.TrimPrefix(strings.TrimPrefix(name, "docker.io/"), "library/")
	last := path.Base(name)
	ofElastic := name == last || strings.HasPrefix(name, "docker.elastic.co/")
	switch rest, ofBitnami := strings.CutPrefix(name, "bitnami/"); {
	case digest != "":
	case ofElastic && slices.Contains([]string{"elasticsearch", "kibana", "logstash"}, last) && (tag == "" || tag == "latest"):
		return fmt.Sprintf("%s has no tag latest", name), "write a version, such as 8.19.0"
	case ofBitnami && tag != "" && tag[0] >= '0' && tag[0] <= '9':
		return fmt.Sprintf("Docker Hub no longer has %s", text),
			fmt.Sprintf("write bitnamilegacy/%s:%s, which gets no updates, or another image", rest, tag)
	}
	return "", ""
}

// isImageName reports whether a text names an image, as NAME, NAME:TAG or with a digest.
func isImageName(text string) bool {
	if isPlainName(text) {
		return true
	}
	_, err := reference.ParseNormalizedNamed(text)
	return err == nil
}

// isPlainName reports whether a text is certainly NAME or NAME:TAG: most are, in small letters and digits with single marks between them.
func isPlainName(text string) bool {
	name, tag, tagged := strings.Cut(text, ":")
	mark := true // where none may stand
	for _, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !letter && (mark || c != '.' && c != '-' && c != '/') {
			return false
		}
		mark = !letter
	}
	isTag := tag != "" && tag[0] != '.' && tag[0] != '-' && !strings.ContainsFunc(tag, endsTag)
	return !mark && len(text) < 64 && (!tagged || isTag)
}

func endsTag(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.', c == '-':
		return false
	}
	return true
}

// imageRefused says why the engine refuses the name of an image, or "". That a registry lacks a tag is known from documentation
// alone: it warns.
func imageRefused(text string) (message, hint string, severity diag.Severity) {
	if text == "" || strings.Contains(text, "$") {
		return "", "", ""
	}
	if isImageName(text) {
		if message, hint = goneImage(text); message != "" {
			return message, hint, diag.SeverityWarning
		}
		if m := versionForName.FindStringSubmatch(text); m != nil {
			if image, ok := baseimage.Of(m[1] + ":" + m[2]); ok && image.Official() {
				return fmt.Sprintf("%q is the image %s of somebody called %s", text, m[2], m[1]),
					fmt.Sprintf("did you mean %q?", m[1]+":"+m[2]), diag.SeverityWarning
			}
		}
		return "", "", "" // most are; the other forms of ParseAnyReference cost more to try
	}
	if _, err := reference.ParseAnyReference(text); err == nil {
		return "", "", ""
	}
	hint = "an image is named [REGISTRY/]NAME[:TAG][@DIGEST]"
	switch lower := strings.ToLower(text); {
	case strings.Contains(text, "://"):
		_, rest, _ := strings.Cut(text, "://")
		hint = fmt.Sprintf("leave the scheme out: %s", rest)
	case strings.ContainsAny(text, " \t\n"):
		hint = "take the space out"
	case lower != text:
		if _, err := reference.ParseAnyReference(lower); err == nil {
			hint = fmt.Sprintf("names of images are in lower case: %s", lower)
		}
	}
	return fmt.Sprintf("the engine refuses the image name %q", jsonc.Abbreviate(text)), hint, ""
}
