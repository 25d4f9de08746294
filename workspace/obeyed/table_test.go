package obeyed

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestClassesOfFiles(t *testing.T) {
	table := NewTable()
	isRoot := func(dir string) bool { return dir == "." || dir == "libs/other" }
	for rel, want := range map[string]Class{
		"src/a.go": None, "README.md": None, "docs/makefile.md": None, "vim": None, "environment": None,
		// anywhere, whatever the case
		".envrc": Shell, "deep/below/.envrc": Shell, "a/.ENVRC": Shell, "x/rust-toolchain.toml": Shell, "rust-toolchain": Shell,
		".config/mise/conf.d/x.toml": Shell, "a/.config/mise/conf.d/x.toml": Shell, "mise/config.toml": Shell, "mise.local.toml": Shell,
		".vim/coc-settings.json": Editor, "a/.vimrc": Editor, ".nvimrc": Editor, ".exrc": Editor, "lisp/.dir-locals.el": Editor,
		"a/.vscode/tasks.json": Editor, "me.code-workspace": Editor,
		".hg/hgrc": Git, ".jj/repo/config.toml": Git, ".sl/config": Git, "sub/.git": Git, "sub/.git/config": Git, ".gitattributes": Git,
		".aider.conf.yml": Agent, ".kilocode/mcp.json": Agent, "crush.json": Agent, ".junie/x": Agent, ".factory/y": Agent, ".amp/z": Agent,
		"CLAUDE.md": Agent, "pkg/CLAUDE.md": Agent, "AGENTS.md": Agent,
		"lefthook.json": Hook, ".config/lefthook.yml": Hook, "lint-staged.config.mjs": Hook, "prek.toml": Hook, "hk.pkl": Hook,
		".husky/pre-commit": Hook, ".pre-commit-config.yaml": Hook,
		".venv/bin/activate.fish": Editor, "analysis_options.yaml": Editor, "docs/book.toml": Build, ".pytest.ini": Build,
		"a/.release-it.json": Build,
		".yarnrc.yml":        Build, "web/package.json": Build, "Makefile": Build, "go.mod": Build, "pyproject.toml": Build, "Dockerfile": Build,
		"Dockerfile.dev": Build, "yarn.lock": Build, "conftest.py": Build,
		"App.xcodeproj/project.pbxproj": Editor, "App.xcodeproj/xcshareddata/xcschemes/App.xcscheme": Editor,
		"App.xcworkspace/contents.xcworkspacedata": Editor,
		// CI reads the root of a repository only
		".github/workflows/ci.yml": CI, "libs/other/.github/workflows/ci.yml": CI, "docs/.github/workflows/ci.yml": None, "action.yml": CI,
		"tools/action.yml": CI, "CODEOWNERS": CI, "a/CODEOWNERS": None,
		".cache/x": Hidden, ".hidden": None, "a/.cache/x": None,
	} {
		if got := table.Class(rel, isRoot); got != want {
			t.Errorf("%s: got %q, want %q", rel, got, want)
		}
	}
}

// A folder's rule is found by the folder's name, so one with wildcards would find nothing.
func TestNoRuleIsInVain(t *testing.T) {
	for name := range NewTable().folders {
		if strings.ContainsAny(name, "*?[") {
			t.Errorf("the rule %s/ matches nothing", name)
		}
	}
	for line := range strings.Lines(rules) {
		if name, heads := strings.CutSuffix(strings.TrimSpace(line), ":"); heads && new(Class).UnmarshalText([]byte(name)) != nil {
			t.Errorf("the rules below %q are of no class", name)
		}
	}
}

func TestClassNamesRoundTrip(t *testing.T) {
	for c := None; c <= Git; c++ {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back Class
		if err := json.Unmarshal(text, &back); err != nil || back != c {
			t.Errorf("%s became %v: %v", text, back, err)
		}
		if (c != None) != (c.Reason() != "") {
			t.Errorf("%s: its reason is %q", text, c.Reason())
		}
	}
	if err := new(Class).UnmarshalText([]byte("nonsense")); err == nil {
		t.Error("nonsense is a class")
	}
}

// Every setting that is mounted read-only where it exists must be named when an
// agent makes a new one.
func TestSettingsThatAreProtectedAreAlsoShown(t *testing.T) {
	table := NewTable()
	for _, pattern := range Settings() {
		if c := table.Class(pattern, nil); !c.OnSight() {
			t.Errorf("%s is protected where it exists, and a new one is of class %q", pattern, c)
		}
	}
}
