package lock

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/templates"
)

// composeImage is an image in a Compose file.
var composeImage = regexp.MustCompile(`(?m)^\s+image:\s*["']?([^\s"'#]+)`)

// References returns the images that the files build on or run, sorted: of FROM
// and COPY --from, of Compose files, of devcontainer.json and of sandbox.jsonc.
// The image of sbx-init is not among them: its content is known by the binary's sum.
func References(files []templates.File) []string {
	var out []string
	add := func(name string) {
		if name != "" && name != "scratch" && name != release.InitImage() && !strings.ContainsAny(name, "$") && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, f := range files {
		switch base := path.Base(f.Path); {
		case base == "Dockerfile":
			df := dockerfile.Parse(f.Path, f.Content, dockerfile.Options{})
			for _, s := range df.Stages {
				if s.Parent == nil && s.Known {
					add(s.Image)
				}
				for _, i := range s.Instructions {
					for _, from := range i.Sources() {
						if df.StageOf(i, from) == nil {
							add(from)
						}
					}
				}
			}
		case strings.HasSuffix(base, ".yaml") && path.Dir(f.Path) == ".devcontainer":
			for _, m := range composeImage.FindAllSubmatch(f.Content, -1) {
				add(string(m[1]))
			}
		case base == "devcontainer.json" || f.Path == ".devcontainer/sandbox.jsonc": // what "run" starts
			if doc, _ := jsonc.Parse("", f.Content); doc != nil {
				image, _ := doc.Root.Member("image").Str()
				add(image)
			}
		}
	}
	slices.Sort(out)
	return out
}
