package lint_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

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
			f.Rule == "SBX101" || slices.Contains(corrects(f.Rule), name) // a text that did not parse meant nothing
	})
}

func corrects(id string) []string {
	r, _ := lint.LookupRule(id)
	return r.Corrects
}

// publicText is a configuration of the corpora, and the file where it stands.
type publicText struct {
	file string
	src  []byte // nil = that of the file itself
}

// open uses it as the project that it is part of.
func (x publicText) open(use func(*devcontainer.Project) error) error {
	if x.src == nil {
		return devcontainer.Open(x.file, use)
	}
	return use(devcontainer.Parse(x.file, x.src))
}

// scenarios are the configurations in a scenarios.json, with which authors of Features test them.
func scenarios(t *testing.T, file string) (out []publicText) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, _ := jsonc.Parse(file, src)
	if doc == nil || doc.Root == nil {
		return nil
	}
	for _, m := range doc.Root.Members {
		if m.Value.Kind == jsonc.Object {
			out = append(out, publicText{file + "#" + m.Name, src[m.Value.Start:m.Value.End]})
		}
	}
	return out
}

// publicTexts are the configurations of the corpora: of every repository below SBX_LINT_CORPUS, too.
func publicTexts(t *testing.T) (out []publicText) {
	t.Helper()
	roots := []string{testenv.Corpus(t, ".")}
	if corpus := os.Getenv("SBX_LINT_CORPUS"); corpus != "" {
		repositories, err := filepath.Glob(filepath.Join(corpus, "*", "repo"))
		if err != nil {
			t.Fatal(err)
		}
		for _, repository := range repositories {
			root, err := checkOut(t, repository, "HEAD", ofConfiguration)
			if err != nil {
				t.Logf("%s is left out: %v", repository, err)
				continue
			}
			roots = append(roots, root)
		}
	}
	for _, root := range roots {
		for _, file := range find(t, root, "devcontainer.json", ".devcontainer.json") {
			out = append(out, publicText{file: file})
		}
		for _, file := range find(t, root, "scenarios.json") {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				out = append(out, scenarios(t, file)...)
			}
		}
	}
	return out
}

// ofConfiguration reports whether a file of a repository can have to do with a dev container.
func ofConfiguration(name string) bool {
	base := strings.ToLower(filepath.Base(name))
	return strings.Contains(name, ".devcontainer") || strings.Contains(base, "dockerfile") || strings.HasPrefix(base, "devcontainer") ||
		base == "scenarios.json" || strings.HasPrefix(base, "docker-compose") || strings.HasPrefix(base, "compose.")
}

// fixedText checks one configuration and reports whether it changes.
func fixedText(t *testing.T, x publicText) (changes bool) {
	t.Helper()
	err := x.open(func(p *devcontainer.Project) error {
		src, fixed, left := lint.Fix(p, nil, nil)
		for _, l := range left {
			if len(l.Brings) == 0 || len(l.Also) > 0 || l.Comments > 0 {
				t.Errorf("%s: the correction of %s would %s", x.file, l.Rule, l.Text())
			}
		}
		if len(fixed) == 0 {
			if string(src) != string(p.Config.Src) {
				t.Errorf("%s changes, and nothing was found", x.file)
			}
			return nil
		}
		changes = true
		after := p.With(src)
		if again, _, _ := lint.Fix(after, nil, nil); string(again) != string(src) {
			t.Errorf("%s changes again", x.file)
		}
		if n, m := strings.Count(string(p.Config.Src), "//"), strings.Count(string(src), "//"); n != m {
			t.Errorf("%s had %d comments and addresses, and has %d", x.file, n, m)
		}
		old := map[string]int{}
		for _, f := range lint.Check(p) {
			old[f.Rule]++
		}
		for _, f := range lint.Check(after) {
			// A value that was mistyped is judged once it is right.
			top, _, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
			if old[f.Rule]--; old[f.Rule] < 0 && f.Severity != diag.SeverityNote && p.Config.Root != nil && !intended(fixed, top) {
				t.Errorf("%s has something new: %v", x.file, f)
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("%s: %v", x.file, err)
	}
	return changes
}

// TestFixOnPublicFiles: on every configuration of the corpora fix leaves no correction out because it
// would change something else or lose a comment, and is done after one round. For files that change
// the official CLI says what changed. SBX_LINT_CORPUS adds public repositories.
func TestFixOnPublicFiles(t *testing.T) {
	texts := publicTexts(t)
	changing, different := []publicText{}, map[string]bool{}
	for _, x := range texts {
		if fixedText(t, x) {
			changing = append(changing, x)
		}
		src := x.src
		if src == nil {
			var err error
			if src, err = os.ReadFile(x.file); err != nil {
				t.Fatal(err)
			}
		}
		different[string(src)] = true
	}
	asked := 0
	if os.Getenv("SBX_LINT_CORPUS") != "" {
		for _, x := range changing {
			if asked < 60 && fixedByTheCLI(t, x) {
				asked++
			}
		}
	}
	t.Logf("%d configurations, %d of them different; %d change, of these %d compared by the official CLI", len(texts), len(different),
		len(changing), asked)
	if len(texts) < 500 || len(changing) < 10 {
		t.Errorf("the test compares nothing")
	}
}

// fixedByTheCLI compares what the official CLI reads before and after, and reports whether it does.
func fixedByTheCLI(t *testing.T, x publicText) bool {
	t.Helper()
	compared := false
	err := x.open(func(p *devcontainer.Project) error {
		src, fixed, _ := lint.Fix(p, nil, nil)
		dir := project(t, map[string]string{configPlace: string(p.Config.Src)}) // its name is part of the meaning
		before, ok := readConfiguration(t, dir)
		if !ok {
			return nil
		}
		if err := os.WriteFile(filepath.Join(dir, configPlace), src, 0o644); err != nil {
			return err
		}
		after, ok := readConfiguration(t, dir)
		compared = true
		if !ok {
			t.Errorf("the CLI does not read %s any more:\n%s", x.file, src)
		}
		delete(before, "configFilePath")
		delete(after, "configFilePath")
		for _, name := range changed(before, after) {
			if !intended(fixed, name) {
				t.Errorf("%s by the CLI: %s was %v and is %v", x.file, name, before[name], after[name])
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
