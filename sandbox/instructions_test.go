package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// The real Claude Code in the Action reads CLAUDE.md of the project, and no other instructions:
// the run says so, on standard error and in summary.json.
func TestUnreadInstructionsAreSaid(t *testing.T) {
	t.Parallel()
	e := connect(t)
	dir := newProject(t, false)
	for name, text := range map[string]string{
		"CLAUDE.md":                  "Say BANANA always.\n",
		".claude/skills/s1/SKILL.md": "---\nname: s1\ndescription: KUMQUAT\n---\n",
		".claude/agents/ag1.md":      "---\nname: ag1\ndescription: PAPAYA\n---\n",
		".claude/commands/fix.md":    "MANGO\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tr := (&trial{dir: dir,
		options: runplan.Options{Layers: runplan.Layers{InputsNotFlags: true},
			Claude: runplan.Claude{Instructions: runplan.Instructions{Memory: true}}},
		script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"true"}}}, Final: "all done"}}).run(t, e)
	var bodies strings.Builder
	for _, r := range tr.api.Requests() {
		bodies.WriteString(r.Body)
	}
	for word, read := range map[string]bool{"BANANA": true, "KUMQUAT": false, "PAPAYA": false, "MANGO": false} {
		if strings.Contains(bodies.String(), word) != read {
			t.Errorf("that Claude reads %s is not %t", word, read)
		}
	}
	want := "Claude does not read .claude/agents, .claude/commands, .claude/skills in a run: its instructions are the prompt and CLAUDE.md"
	if !slices.Contains(tr.said, "note: "+want) {
		t.Errorf("said %q", tr.said)
	}
	text, err := os.ReadFile(tr.result.Files.Summary)
	if err != nil {
		t.Fatal(err)
	}
	var summary struct{ Notes []string }
	if err := json.Unmarshal(text, &summary); err != nil || !slices.Equal(summary.Notes, []string{want}) {
		t.Errorf("summary.json has the notes %q, %v", summary.Notes, err)
	}
}
