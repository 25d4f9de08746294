package lint_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/effective"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// about are the properties that a rule's correction is about, besides that of the finding itself.
var about = map[string][]string{
	"SBX101": {"*"}, // a text that did not parse meant nothing
	"SBX207": {"customizations", "extensions", "settings", "devPort"},
	"SBX302": {"mounts"},
	"SBX309": {"workspaceFolder"},
	"SBX506": {"remoteEnv"},
	"SBX801": {"capAdd"}, "SBX802": {"overrideCommand"}, "SBX804": {"waitFor"}, "SBX805": {"securityOpt", "capAdd"},
	"SBX806": {"mounts"}, "SBX807": {"mounts"}, "SBX820": {"waitFor"},
}

// meaning is what a configuration amounts to: its merged properties, the engine's command line left
// out, which follows from them.
func meaning(t *testing.T, p *devcontainer.Project) map[string]any {
	t.Helper()
	result, err := effective.Compute(p, effective.Options{})
	if err != nil {
		return nil // such as one without an image
	}
	text, err := json.Marshal(result.Configuration)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// changed are the properties that differ.
func changed(before, after map[string]any) (names []string) {
	for _, m := range []map[string]any{before, after} {
		for name := range m {
			if !reflect.DeepEqual(before[name], after[name]) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// intended reports whether a corrected finding is about a property.
func intended(fixed []diag.Finding, name string) bool {
	fold := strings.NewReplacer("_", "", "-", "")
	return slices.ContainsFunc(fixed, func(f diag.Finding) bool {
		top, _, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
		// The merged configuration names hooks in the plural: postCreateCommands.
		return strings.EqualFold(fold.Replace(top), fold.Replace(name)) || top+"s" == name ||
			slices.Contains(about[f.Rule], name) || slices.Contains(about[f.Rule], "*")
	})
}

// fixedFile checks one file and reports whether it changes, and whether its effective meaning was compared.
func fixedFile(t *testing.T, file string) (changes, compared bool) {
	t.Helper()
	err := devcontainer.Open(file, func(p *devcontainer.Project) error {
		src, fixed := lint.Fix(p, nil, nil)
		if len(fixed) == 0 {
			if string(src) != string(p.Config.Src) {
				t.Errorf("%s changes, and nothing was found", file)
			}
			return nil
		}
		changes = true
		after := p.With(src)
		if again, _ := lint.Fix(after, nil, nil); string(again) != string(src) {
			t.Errorf("%s changes again", file)
		}
		if n, m := strings.Count(string(p.Config.Src), "//"), strings.Count(string(src), "//"); n != m {
			t.Errorf("%s had %d comments and addresses, and has %d", file, n, m)
		}
		old := map[string]int{}
		for _, f := range lint.Check(p) {
			old[f.Rule]++
		}
		for _, f := range lint.Check(after) {
			// A value that was mistyped is judged once it is right.
			top, _, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
			if old[f.Rule]--; old[f.Rule] < 0 && f.Severity != diag.SeverityNote && p.Config.Root != nil && !intended(fixed, top) {
				t.Errorf("%s has something new: %v", file, f)
			}
		}
		before, now := meaning(t, p), meaning(t, after)
		if before == nil || now == nil {
			return nil
		}
		compared = true
		for _, name := range changed(before, now) {
			if !intended(fixed, name) {
				t.Errorf("%s: %s was %v and is %v, by %v", file, name, before[name], now[name], fixed)
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("%s: %v", file, err)
	}
	return changes, compared
}

// TestFixOnPublicFiles: on every file of the corpora fix changes the effective meaning of nothing
// but what its findings are about, loses no comment, and is done after one round. For a part of the
// files that change the official CLI is asked, too. SBX_LINT_CORPUS adds public repositories.
func TestFixOnPublicFiles(t *testing.T) {
	files := find(t, testenv.Corpus(t, "."), "devcontainer.json", ".devcontainer.json")
	if corpus := os.Getenv("SBX_LINT_CORPUS"); corpus != "" {
		for repository, commit := range readLabels(t).Commits {
			root, err := checkOut(t, filepath.Join(corpus, strings.ReplaceAll(repository, "/", "+"), "repo"), commit)
			if err != nil {
				t.Logf("%s is left out: %v", repository, err)
				continue
			}
			files = append(files, find(t, root, "devcontainer.json", ".devcontainer.json")...)
		}
	}
	changing, compared := []string{}, 0
	for _, file := range files {
		changes, same := fixedFile(t, file)
		if changes {
			changing = append(changing, file)
		}
		if same {
			compared++
		}
	}
	asked := 0
	if os.Getenv("SBX_LINT_CORPUS") != "" {
		for _, file := range changing {
			if asked < 20 && fixedByTheCLI(t, file) {
				asked++
			}
		}
	}
	t.Logf("%d files, %d change, of these %d compared by their effective configuration and %d by the official CLI", len(files), len(changing),
		compared, asked)
	if len(files) < 500 || compared < 10 {
		t.Errorf("the test compares nothing")
	}
}

// fixedByTheCLI compares what the official CLI reads before and after, and reports whether it does.
func fixedByTheCLI(t *testing.T, file string) bool {
	t.Helper()
	compared := false
	err := devcontainer.Open(file, func(p *devcontainer.Project) error {
		src, fixed := lint.Fix(p, nil, nil)
		before, ok := readConfiguration(t, project(t, map[string]string{configPlace: string(p.Config.Src)}))
		if !ok {
			return nil
		}
		after, ok := readConfiguration(t, project(t, map[string]string{configPlace: string(src)}))
		compared = true
		if !ok {
			t.Errorf("the CLI does not read %s any more:\n%s", file, src)
		}
		delete(before, "configFilePath")
		delete(after, "configFilePath")
		for _, name := range changed(before, after) {
			if !intended(fixed, name) {
				t.Errorf("%s by the CLI: %s was %v and is %v", file, name, before[name], after[name])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return compared
}

const configPlace = ".devcontainer/devcontainer.json"
