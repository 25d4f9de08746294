package repotest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every direct dependency earns its sentence in docs/design.md.
func TestEveryDependencyHasItsSentence(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	design, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	direct := 0
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+(.*)$`).FindAllStringSubmatch(string(mod), -1) {
		if strings.Contains(m[2], "// indirect") {
			continue
		}
		direct++
		if !strings.Contains(string(design), m[1]) {
			t.Errorf("docs/design.md does not say why %s is worth it", m[1])
		}
	}
	if direct < 5 {
		t.Errorf("found only %d direct dependencies in go.mod: the pattern is wrong", direct)
	}
}

// Presets and documentation name an ecosystem's domain with a wildcard: a
// single registry host would send everybody to one mirror.
func TestNoRegistryHostIsSpelledOut(t *testing.T) {
	hosts := regexp.MustCompile(`regis` + `try\.npmjs\.org|(deb|security)\.deb` + `ian\.org|(proxy|sum)\.go` + `lang\.org`)
	err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "node_modules" || name == "bin" || name == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil || strings.HasSuffix(file, ".sum") {
			return err
		}
		if found := hosts.Find(text); found != nil {
			t.Errorf("%s spells out a registry's host: %s", file, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
