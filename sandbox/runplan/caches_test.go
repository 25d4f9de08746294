package runplan

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A dev container and a run lead package managers to the same places.
func TestCacheVariablesAreTheDevContainers(t *testing.T) {
	text, err := os.ReadFile("../../templates/parts/shared/caches.dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	env := regexp.MustCompile(`(?s)\nENV (.*?[^\\])\n`).FindSubmatch(text)
	if env == nil {
		t.Fatalf("no ENV in %s", text)
	}
	want := strings.Fields(strings.ReplaceAll(string(env[1]), "\\\n", ""))
	got := slices.Clone(cacheVariables())
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("a run has\n%s\nand the dev container\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
