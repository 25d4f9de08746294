package images

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/release"
)

// Names of the images that runs build here: of projects, by a digest of the folder, and
// of our own Dockerfiles, by a digest of the text.
var (
	projectImage = regexp.MustCompile(`^sbx-devc-project-([0-9a-f]{16}):latest$`)
	ownImage     = regexp.MustCompile(`^claude-sandbox-([a-z]+(?:-[a-z]+)*):[0-9a-f]{16}$`)
)

// projectName is the name of the image of the project in dir, an absolute path.
func projectName(dir string) string { return "sbx-devc-project-" + short([]byte(dir)) }

// Spare returns the images that runs have built and that a clean engine does without:
// that of the project in dir, those of the known projects that are gone, and the default
// image and the firewall's of other versions. With all they are those of every project
// and template too. A run builds again those that it needs. Projects are absolute
// paths.
func Spare(ctx context.Context, e *engine.Engine, dir string, known []string, all bool) ([]engine.NamedImage, error) {
	names, err := e.Images(ctx)
	if err != nil {
		return nil, err
	}
	ours := map[string]bool{projectName(dir) + ":latest": true}
	for _, project := range known {
		if _, err := os.Stat(project); errors.Is(err, fs.ErrNotExist) {
			ours[projectName(project)+":latest"] = true
		}
	}
	current := []string{FirewallName(), publishedName(release.FirewallImage()), DefaultName(DefaultFiles())}
	return slices.DeleteFunc(names, func(image engine.NamedImage) bool {
		own := ownImage.FindStringSubmatch(image.Name)
		switch {
		case ours[image.Name], all && projectImage.MatchString(image.Name):
			return false
		case own == nil || slices.Contains(current, image.Name):
			return true
		}
		return own[1] != "default" && own[1] != "firewall" && (!all || !strings.HasPrefix(own[1], "claude"))
	}), nil
}
