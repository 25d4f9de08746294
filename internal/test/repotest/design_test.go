package repotest

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// The picture of the packages in docs/design.md has each of them with a sentence, and none
// that is gone.
func TestDesignShowsEveryPackage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shape, _ := strings.Cut(string(text), "\n## Shape\n")
	_, shape, _ = strings.Cut(shape, "```\n")
	shape, _, _ = strings.Cut(shape, "```")
	shown := map[string]bool{}
	room := ""
	for line := range strings.Lines(shape) {
		// Names stand before the first word that is none: "firewall/", "  kernel/",
		// "cmd/sbx-devc", "  lock/ base/ npm/".
		names, says, _ := strings.Cut(line, "   ")
		if strings.HasPrefix(line, " ") {
			names, says, _ = strings.Cut(strings.TrimLeft(line, " "), "  ")
		}
		if strings.TrimSpace(says) == "" && !strings.HasPrefix(line, "internal/") { // whose packages have theirs below
			t.Errorf("docs/design.md says nothing about %s", line)
		}
		for _, name := range strings.Fields(names) {
			name = strings.TrimSuffix(name, "/")
			if strings.HasPrefix(line, " ") {
				name = path.Join(room, name)
			} else {
				room = name
			}
			shown[name] = true
		}
	}
	all := packages(t)
	for dir := range all {
		if !shown[dir] && !strings.HasPrefix(dir, "examples/") {
			t.Errorf("docs/design.md does not show %s", dir)
		}
	}
	for name := range shown {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			t.Errorf("docs/design.md shows %s, and it is gone", name)
		}
	}
	if len(shown) < len(all)/2 {
		t.Errorf("found only %d names in the picture: the pattern is wrong", len(shown))
	}
}
