package action

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
	"go.yaml.in/yaml/v4"
)

// example is a block of YAML with steps in a page, or a whole file of a workflow.
type example struct {
	file string // from the repository's root
	line int    // of its first one
	text string
}

func (e example) String() string { return fmt.Sprintf("%s:%d", e.file, e.line) }

// examples are those of the pages, and what init writes.
func examples(t *testing.T) (all []example) {
	t.Helper()
	block := regexp.MustCompile("(?ms)^```(?:yaml|yml)\n(.*?)^```$")
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		pages, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			page = strings.TrimPrefix(filepath.ToSlash(page), "../")
			text := repoFile(t, page)
			for _, at := range block.FindAllStringSubmatchIndex(text, -1) {
				e := example{page, 1 + strings.Count(text[:at[2]], "\n"), text[at[2]:at[3]]}
				if strings.Contains(e.text, "uses:") || strings.Contains(e.text, "steps:") || strings.Contains(e.text, "run:") {
					all = append(all, e)
				}
			}
		}
	}
	written := strings.NewReplacer("ORG/", "org/", "PRESETS\n", "            npm\n", "ALLOW\n", "            docs.example.com\n")
	all = append(all, example{"templates/workflow.yml", 1, written.Replace(repoFile(t, "templates/workflow.yml"))})
	if len(all) < 15 {
		t.Fatalf("%d examples were found", len(all))
	}
	return all
}

// whole is the workflow that an example is a part of, if it is not one.
func (e example) whole(t *testing.T) string {
	t.Helper()
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(e.text), &node); err != nil || len(node.Content) != 1 {
		t.Fatalf("%s: %v", e, err)
	}
	has := func(key string) bool {
		top := node.Content[0]
		return top.Kind == yaml.MappingNode && slices.ContainsFunc(top.Content, func(n *yaml.Node) bool { return n.Value == key })
	}
	indented := func(by int) string {
		lines := strings.Split(strings.TrimRight(e.text, "\n"), "\n")
		own := len(lines[0]) - len(strings.TrimLeft(lines[0], " "))
		for i, line := range lines {
			if line != "" {
				lines[i] = strings.Repeat(" ", by) + line[min(own, len(line)):]
			}
		}
		return strings.Join(lines, "\n") + "\n"
	}
	const job = "on: push\njobs:\n  example:\n    runs-on: ubuntu-24.04\n"
	switch {
	case has("on"):
		return e.text
	case has("jobs"):
		return "on: push\n" + e.text
	case has("steps"):
		return job + indented(4)
	case node.Content[0].Kind == yaml.SequenceNode:
		return job + "    steps:\n" + indented(6)
	}
	t.Fatalf("%s is no part of a workflow", e)
	return ""
}

// Every example can be copied: the real actionlint takes it, with the shellcheck of its scripts,
// and each input and output of ours that it names is there. The same for our own workflows.
func TestActionlintTakesTheExamples(t *testing.T) {
	actionlint := testenv.Program(t, "actionlint")
	testenv.Program(t, "shellcheck") // actionlint is silent about one that is missing
	project := t.TempDir()
	workflows := filepath.Join(project, ".github", "workflows")
	for _, dir := range []string{workflows, filepath.Join(project, ".git")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// What is ours is in the project, so that actionlint reads what it takes and gives.
	ours := regexp.MustCompile(`uses: org/claude-sandbox(\S*)@v1\b`)
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(project, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		text = ours.ReplaceAllStringFunc(text, func(uses string) string { return "uses: ." + cmp.Or(ours.FindStringSubmatch(uses)[1], "/") })
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"action.yml", "apply/action.yml", "comment/action.yml", "setup/action.yml"} {
		write(name, repoFile(t, name))
	}
	own, err := filepath.Glob(filepath.Join("..", ".github", "workflows", "*.yml"))
	if err != nil || len(own) == 0 {
		t.Fatal(own, err)
	}
	for _, file := range own {
		name := ".github/workflows/" + filepath.Base(file)
		write(name, repoFile(t, name))
	}
	for _, e := range examples(t) {
		write(fmt.Sprintf(".github/workflows/%s-line-%d.yml", strings.ReplaceAll(e.file, "/", "-"), e.line), e.whole(t))
	}
	cmd := exec.CommandContext(t.Context(), actionlint, "-no-color")
	cmd.Dir = project
	if out, err := cmd.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
