package lint_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/selection"
	"github.com/org/claude-sandbox/internal/diag"
)

// TestFreshRepositories: a public repository that never heard of the linter passes by default, or
// fails for something that a person said is so, with the reason. SBX_LINT_CORPUS as for TestQuality.
func TestFreshRepositories(t *testing.T) {
	corpus := os.Getenv("SBX_LINT_CORPUS")
	if corpus == "" {
		t.Skip("needs public repositories: SBX_LINT_CORPUS names a folder with OWNER+NAME/repo, a git directory, of each")
	}
	all := readLabels(t)
	verdicts := map[label]bool{}
	for _, l := range all.Labels {
		verdicts[label{Repository: l.Repository, Path: l.Path, Line: l.Line, Rule: l.Rule}] = l.True
	}
	repositories, passing := 0, 0
	for _, repository := range slices.Sorted(maps.Keys(all.Commits)) {
		root, err := checkOut(t, filepath.Join(corpus, strings.ReplaceAll(repository, "/", "+"), "repo"), all.Commits[repository], everyFile)
		if err != nil {
			t.Logf("%s is left out: %v", repository, err)
			continue
		}
		files, _, err := devcontainer.DiscoverAll(root)
		if err != nil && !errors.Is(err, devcontainer.ErrNone) {
			t.Fatal(err)
		}
		if len(files) == 0 {
			continue
		}
		choices, err := selection.NewChoices(selection.Options{NoConfig: true})
		if err != nil {
			t.Fatal(err)
		}
		check := selection.Check{Choices: choices}
		if err := check.Open(t.Context(), files); err != nil {
			t.Logf("%s: %v", repository, err)
		}
		repositories++
		if check.Bad == 0 {
			passing++
		}
		for _, f := range check.Files.Findings {
			if f.Severity == diag.SeverityNote {
				continue
			}
			name, err := filepath.Rel(root, f.File)
			if err != nil {
				t.Fatal(err)
			}
			key := label{Repository: repository, Path: filepath.ToSlash(name), Line: f.Line, Rule: f.Rule}
			if right, known := verdicts[key]; !known {
				t.Errorf("no verdict: %s %s:%d %s %s: %s", repository, key.Path, f.Line, f.Severity, f.Rule, f.Message)
			} else if !right {
				t.Logf("wrong: %s %s:%d %s", repository, key.Path, f.Line, f.Rule)
			}
		}
	}
	t.Logf("%d of %d repositories pass", passing, repositories)
}
