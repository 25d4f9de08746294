package adopt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// TestExtendOnPublicConfigurations extends every configuration of the corpora,
// without writing the programs: each is refused with a reason and what to do, or
// becomes one that validate has no error about and that a second time leaves
// alone.
func TestExtendOnPublicConfigurations(t *testing.T) {
	corpus := testenv.Corpus(t, "corpus")
	extended, refused := 0, map[string]int{}
	err := filepath.WalkDir(corpus, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "devcontainer.json") {
			return err
		}
		dir := corpusProject(t, name)
		if why := extendsCleanly(t, dir, name); why == "" {
			extended++
		} else {
			refused[why]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if extended < 100 {
		t.Errorf("only %d could be extended", extended)
	}
	t.Logf("extended: %d; refused: %v", extended, refused)
}

// corpusProject is a repository with one configuration, and the files around it.
func corpusProject(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	target := filepath.Join(dir, ".devcontainer")
	for _, folder := range []string{target, filepath.Join(dir, ".git", "hooks")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if filepath.Base(filepath.Dir(name)) == ".devcontainer" {
		if err := os.CopyFS(target, os.DirFS(filepath.Dir(name))); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(filepath.Join(target, "devcontainer.json"), text, 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".git", "config"), nil, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// extendsCleanly extends the dev container in dir and returns the rules for which
// that was refused.
func extendsCleanly(t *testing.T, dir, name string) (refused string) {
	t.Helper()
	folder := scaffold.Folder(dir)
	x, err := Plan(folder, folder.Read(scaffold.ConfigPath), lock.Input{Presets: []string{"anthropic"}})
	if err != nil {
		if err.Error() == "" || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: refused without a reason: %v", name, err)
		}
		return "cannot be extended"
	}
	var rules []string
	for _, f := range x.Refused {
		if f.Message == "" || f.Hint == "" && f.Rule[3] > '3' {
			t.Errorf("%s: refused for %s, without what to do: %s", name, f.Rule, f.Message)
		}
		rules = append(rules, f.Rule)
	}
	if len(rules) > 0 {
		return rules[0]
	}
	for _, f := range x.Files {
		if strings.HasSuffix(f.Path, ".gz") {
			f.Content = nil
		}
		if err := templates.WriteFiles(dir, []templates.File{f}, true); err != nil {
			t.Fatal(err)
		}
	}
	file := folder.Path(scaffold.ConfigPath)
	err = devcontainer.Open(file, func(p *devcontainer.Project) error {
		for _, f := range lint.Check(p) {
			if f.Severity == diag.SeverityError && f.Rule != endingService {
				t.Errorf("%s: the result has an error: %s [%s]", name, f.Message, f.Rule)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Plan(folder, folder.Read(scaffold.ConfigPath), lock.Input{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range again.Changed {
		if !strings.HasSuffix(f.Path, ".gz") {
			t.Errorf("%s: a second time changes %s", name, f.Path)
		}
	}
	return ""
}
