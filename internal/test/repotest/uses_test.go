package repotest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/golden"
)

var (
	// uses is an action or a workflow that a step or a job names, with what stands behind it.
	uses = regexp.MustCompile(`uses: ([\w.-]+/[\w./-]+)@(\w[\w.-]*)( # v\d+\.\d+\.\d+\b)?`)
	hash = regexp.MustCompile(`^[0-9a-f]{40}$`)
	// odd are ways to write one that uses does not find.
	odd = regexp.MustCompile(`uses:(?: {2,}|\t| ?["'{])\S*`)
	// own are ours. Examples and reusable workflows name them as callers do: no commit can hold
	// its own hash.
	own = regexp.MustCompile(`^(?:org|ORG)/claude-sandbox(?:/.*)?$`)
)

// usesFiles are the pages, workflows and templates, by path from the root.
func usesFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "testdata", "node_modules", "bin"}, d.Name()) {
			return filepath.SkipDir
		}
		if slices.Contains([]string{".md", ".yml", ".yaml"}, filepath.Ext(path)) {
			files = append(files, path)
		}
		return nil
	})
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	return files
}

// Whoever can move a tag of an action could change what a workflow runs, ours or that of
// somebody who copies an example. The pages have the commits of our own workflows, which
// Dependabot updates: -update takes them over.
func TestForeignActionsArePinnedByHash(t *testing.T) {
	files := usesFiles(t)
	pins := map[string]string{} // what stands behind the name of an action in our workflows
	isWorkflow := func(file string) bool { return filepath.Dir(file) == filepath.Join(root, ".github", "workflows") }
	slices.SortStableFunc(files, func(a, b string) int {
		switch {
		case isWorkflow(a) == isWorkflow(b):
			return strings.Compare(a, b)
		case isWorkflow(a):
			return -1
		}
		return 1
	})
	foreign := 0
	for _, file := range files {
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := odd.Find(before); found != nil {
			t.Errorf("%s: write it as 'uses: NAME@COMMIT': %s", file, found)
		}
		if isWorkflow(file) {
			for line := range strings.Lines(string(before)) {
				if strings.Contains(line, "uses:") && !strings.Contains(line, "uses: ./") && !uses.MatchString(line) {
					t.Errorf("%s: this is not understood: %s", file, line)
				}
			}
		}
		after := uses.ReplaceAllStringFunc(string(before), func(found string) string {
			m := uses.FindStringSubmatch(found)
			name, at, version := m[1], m[2], m[3]
			if own.MatchString(name) {
				if at != "v1" {
					t.Errorf("%s: %s is shown at %s, and not at v1", file, name, at)
				}
				return found
			}
			foreign++
			pin := at + version
			switch wanted, known := pins[name]; {
			case isWorkflow(file) && (!hash.MatchString(at) || version == ""):
				t.Errorf("%s: not pinned by hash with its version behind: %s", file, found)
			case isWorkflow(file) && known && wanted != pin:
				t.Errorf("%s: another workflow has %s@%s: %s", file, name, wanted, found)
			case isWorkflow(file):
				pins[name] = pin
			case !known:
				t.Errorf("%s: no workflow of ours has a commit of %s", file, name)
			case wanted != pin && golden.Updating():
				return "uses: " + name + "@" + wanted
			case wanted != pin:
				t.Errorf("%s: our workflows have uses: %s@%s, and this is %s; make golden takes it over", file, name, wanted, found)
			}
			return found
		})
		if after != string(before) {
			if err := os.WriteFile(file, []byte(after), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if foreign < 20 {
		t.Errorf("%d steps with another's action were found", foreign)
	}
}
