package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// The README's session is what a user would see: each command is run in a new
// folder, and its output must be what the README prints.
func TestReadmeSession(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	session := regexp.MustCompile("(?s)```console\n(.*?)```").FindSubmatch(readme)
	if session == nil {
		t.Fatal("README.md has no console session")
	}
	t.Chdir(t.TempDir())
	newGitFolder(t)
	if os.Geteuid() == 0 { // the README's user is not root, whom init warns
		if err := os.Chown(".", 1000, 1000); err != nil {
			t.Fatal(err)
		}
	}
	commands, getenv := 0, homeAlone(t)
	for _, step := range strings.Split(string(session[1]), "$ ")[1:] {
		line, want, _ := strings.Cut(step, "\n")
		args, ok := strings.CutPrefix(line, "sbx-devc ")
		if !ok {
			t.Fatalf("the session types %q, and this test runs sbx-devc only", line)
		}
		var got bytes.Buffer // both streams, as on a terminal
		a := &app{stdin: strings.NewReader(""), stdout: &got, stderr: &got, getenv: getenv}
		a.main(context.Background(), strings.Fields(args))
		if got.String() != want {
			t.Errorf("$ %s prints\n%s\nREADME.md says\n%s", line, got.String(), want)
		}
		commands++
	}
	if commands < 3 {
		t.Errorf("the session has %d commands", commands)
	}
}

// homeAlone is an environment with a home folder and nothing else.
func homeAlone(t *testing.T) func(string) string {
	home := t.TempDir()
	return func(name string) string { return map[string]string{"HOME": home}[name] }
}

// newGitFolder makes the current folder a repository, as far as init looks.
func newGitFolder(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(".git/hooks", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(".git/config", nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// allTests is the source of the tests in this folder.
func allTests(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// documents are the pages for people, by path from this folder; docs/checks.md
// is made of the rules, by a test of its own.
func documents(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 8 {
		t.Fatalf("found only %q: %v", pages, err)
	}
	pages = slices.DeleteFunc(pages, func(p string) bool { return filepath.Base(p) == "checks.md" })
	return append([]string{"../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md"}, pages...)
}

// Every command that a page or a command's own help shows exists, with the
// flags that it shows.
func TestDocumentedCommandsExist(t *testing.T) {
	a := &app{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, getenv: func(string) string { return "" }}
	root := root(a.cli())
	found := 0
	check := func(where, text string) {
		for _, m := range regexp.MustCompile("sbx-devc ([a-z]+(?: [a-z]+)?)((?: +[^ \n#|`&]+)*)").FindAllStringSubmatch(text, -1) {
			shown := strings.TrimSpace(m[0])
			cmd, rest, err := root.Find(strings.Fields(m[1]))
			if err != nil || cmd == root {
				t.Errorf("%s shows %q, which is no command", where, shown)
				continue
			}
			found++
			for _, word := range append(rest, strings.Fields(m[2])...) {
				name, ok := strings.CutPrefix(word, "--")
				name, _, _ = strings.Cut(strings.TrimRight(name, "'.,;:)"), "=")
				if ok && name != "" && name != "help" && cmd.Flags().Lookup(name) == nil {
					t.Errorf("%s shows %q, and %s has no flag --%s", where, shown, cmd.CommandPath(), name)
				}
			}
		}
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range documents(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		check(filepath.Base(page), string(text))
		for _, m := range regexp.MustCompile("(?m)(?:`|^ *)make ([a-z-]+)").FindAllSubmatch(text, -1) {
			if !bytes.Contains(makefile, append(append([]byte("\n"), m[1]...), ':')) {
				t.Errorf("%s shows %q, and the Makefile has no such target", filepath.Base(page), m[0])
			}
		}
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		check(cmd.CommandPath()+" --help", cmd.Example)
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
	if found < 100 {
		t.Errorf("found only %d commands: the pattern is wrong", found)
	}
}

// Lines of the pages that need more than a folder, and what runs them on the
// real thing.
var runElsewhere = map[string]string{
	"sbx-devc allow ":                "TestReadmeOpensHosts",
	"sbx-devc deny ":                 "TestReadmeOpensHosts",
	"sbx-devc preset ":               "TestReadmeOpensHosts",
	"git clone ":                     "the clone is where this test is",
	"code .":                         "an editor",
	"make ":                          ".ci/run",
	"sbx-devc policy check pastebin": "TestReadmeSession",
	"sbx-devc lock --update":         "TestLockUpdateOutlivesItsRegistry",
	"sbx-devc image load":            "TestDevcontainer",
	"sbx-devc image lock":            "TestImageFromLockToDevContainer",
	"sbx-devc image build":           "TestImageFromLockToDevContainer",
	"sbx-devc image push":            "TestImageFromLockToDevContainer",
	"sbx-devc image pull":            "TestPinnedPushIsPulled",
	"sbx-devc image inspect":         "TestImageFromLockToDevContainer",
	"sbx-devc image verify":          "TestImageFromLockToDevContainer",
	"sbx-devc templates push":        "TestFeatureFirewall",
	"sbx-devc run":                   "TestClaudeOnATerminal",
	"sbx-devc run ":                  "TestRunAnswersAsClaudeDoes",
	"git diff | sbx-devc run":        "TestRunAnswersAsClaudeDoes",
	"sbx-devc report":                "TestScripts",
	"sbx-devc diff":                  "TestScripts",
	"sbx-devc apply":                 "TestThePrintedApplyCommandMakesTheBranch",
	"sbx-devc review":                "TestReviewOnATerminal",
	"sbx-devc discard":               "TestDiscard",
	"sbx-devc policy learn":          "TestScripts",
	"devcontainer exec":              "TestStrictDevcontainer",
	"export DOCKER_HOST=ssh:":        "TestSeveralRunsOnCopiesOfAUser",
	"git fetch work.bundle":          "TestStrictDevcontainer",
	"curl -fsSL https://github.com/": "TestWorkflowsPublish",
	"sudo dpkg -i ":                  "TestWorkflowsPublish",
	"sudo rpm -i ":                   "TestWorkflowsPublish",
	"go install ":                    "TestWorkflowsPublish",
	"git push origin v":              "TestWorkflowsPublish",
	"sbx-devc proxy ":                "TestAttackTheProxyAlone",
	"scoop install ":                 "Windows",
	"cd editors/vscode":              "TestVSCodeExtension",
	"npm install":                    "an editor",
	"npx @vscode/vsce ":              "an editor",
	"code --install-extension ":      "an editor",
}

// Every other line that the pages ask to type works as it stands, one after the
// other in a project that is new.
func TestDocumentedLinesRun(t *testing.T) {
	var lines []string
	for _, page := range documents(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		fenced, language := false, ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			if after, ok := strings.CutPrefix(line, "```"); ok {
				fenced, language = !fenced, after
				continue
			}
			typed, ok := strings.CutPrefix(line, "    ")
			switch {
			case fenced && language == "console":
				typed, ok = strings.CutPrefix(line, "$ ")
			case fenced:
				typed, ok = line, language == "" && filepath.Base(page) != "design.md" // which draws
			}
			if typed, _, _ = strings.Cut(typed, "   "); ok && strings.TrimSpace(typed) != "" { // a comment stands apart
				lines = append(lines, strings.TrimSpace(typed))
			}
		}
	}
	tests := allTests(t)
	t.Chdir(t.TempDir())
	newGitFolder(t)
	done, getenv := map[string]bool{}, homeAlone(t)
	for _, line := range lines {
		elsewhere := ""
		for prefix, where := range runElsewhere {
			if strings.HasPrefix(line, prefix) {
				elsewhere = where
			}
		}
		if strings.HasPrefix(elsewhere, "Test") && !strings.Contains(tests, "\nfunc "+elsewhere+"(") {
			t.Errorf("a page asks to type %q, and there is no %s to run that", line, elsewhere)
		}
		if elsewhere != "" || done[line] {
			continue
		}
		done[line] = true
		args, ok := strings.CutPrefix(line, "sbx-devc ")
		if !ok {
			t.Errorf("a page asks to type %q, and no test runs that", line)
			continue
		}
		var out bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: getenv}
		if code := a.main(t.Context(), strings.Fields(args)); code != 0 {
			t.Errorf("%s: exit code %d:\n%s", line, code, &out)
		}
	}
	if len(done) < 6 {
		t.Errorf("ran only %d of %d lines: the pattern is wrong", len(done), len(lines))
	}
}

// The README's lines that open and close hosts do so, in a project without a file.
func TestReadmeOpensHosts(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	project := t.TempDir()
	lines := regexp.MustCompile(`(?m)^    sbx-devc ((?:allow|deny|preset) [^#\n]*[^#\n ])`).FindAllStringSubmatch(string(readme), -1)
	if len(lines) < 3 {
		t.Fatalf("README.md has %d of these lines", len(lines))
	}
	for _, line := range lines {
		var out strings.Builder
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: os.Getenv}
		if code := a.main(t.Context(), append(strings.Fields(line[1]), "--project", project, "--no-reload")); code != 0 ||
			!strings.Contains(out.String(), "changed") {
			t.Errorf("%s: exit %d: %s", line[1], code, &out)
		}
	}
}
