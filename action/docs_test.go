package action

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Attack: the agent's text holds commands to the runner, and the workflow
// prints it as docs/action.md shows.
func TestAttackResultPrintedAsTheDocsShow(t *testing.T) {
	for _, program := range []string{"bash", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			testenv.Missing(t, program, err.Error())
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "docs", "action.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "        run: |\n")
	script, _, ended := strings.Cut(rest, "```")
	if !found || !ended || strings.Contains(script, "${{") {
		t.Fatalf("the example is gone, or an expression is in its script: %s", script)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", script)
	cmd.Env = append(os.Environ(),
		"RESULT=done\n::add-mask::x\n  ::error::forged\r::error::forged\n##[error]forged\n::word::\n$(touch /nowhere)\x1b[2J\n\n::end")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err, string(out))
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	word, stops := strings.CutPrefix(lines[0], "::stop-commands::")
	if !stops || len(word) < 32 || lines[len(lines)-1] != "::"+word+"::" {
		t.Errorf("commands are not stopped around the text: %q", lines)
	}
	for _, line := range lines[1 : len(lines)-1] {
		if !strings.HasPrefix(line, "> ") || strings.Contains(line, "##[") || strings.ContainsAny(line, "\x1b\r") {
			t.Errorf("a line could be a command: %q", line)
		}
	}
}

// No example prints the value of an expression.
func TestExamplesPutNoOutputIntoAScript(t *testing.T) {
	for _, name := range []string{"README.md", filepath.Join("docs", "action.md")} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if strings.Contains(line, "run:") && strings.Contains(line, "${{") && strings.Contains(line, "echo") {
				t.Errorf("%s: %s", name, line)
			}
			if strings.HasPrefix(line, "- run: echo \"$") || strings.HasPrefix(line, "run: printf") {
				t.Errorf("%s prints a value of the agent's as it is: %s", name, line)
			}
		}
	}
}
