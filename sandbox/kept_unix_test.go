//go:build unix

package sandbox

import (
	"os"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/sandbox/kept"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// Claude goes on with what it knew of the project under a profile, and the next run's
// Claude starts nothing that it left.
func TestAProfileKeepsConversations(t *testing.T) {
	t.Parallel()
	e := connect(t)
	root, dir := kept.Root(t.TempDir()), newProject(t, false)
	open := func(run string) *kept.Store {
		s, err := root.Open("work", dir, run)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	store := open("one")
	first := (&trial{
		options: runplan.Options{Folders: runplan.Folders{KeepClaude: true, Persist: []string{".config/tool"}}}, dir: dir, store: store,
		prompt: strings.NewReader("remember the canary 71c0ffee\n"),
		script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{
			"echo 'echo line' >$HISTFILE; mkdir -p ~/.claude/plans && echo plan >~/.claude/plans/a.md; " +
				"echo x >~/.config/tool/file && echo y >~/.config/other",
			"ln -s ../../../../etc/os-release ~/.config/tool/far; ln ~/.config/tool/file ~/.config/tool/hard",
			`echo '{"theme":"light","hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch /workspace/hooked"}]}]}}` +
				`' >~/.claude/settings.json`,
			`echo '{"projects":{"/workspace":{"disabledMcpServers":["noisy"],"mcpServers":{"evil":{"command":"touch","args":["/workspace/hooked"]}` +
				`}}}}' >~/.claude/.claude.json`,
		}}}, Final: "noted"},
	}).run(t, e)
	if first.err != nil || !first.result.Outcome.OK() {
		t.Fatal(first.err, first.result.Outcome)
	}
	store.Close()
	store = open("two")
	second := (&trial{
		options: runplan.Options{Folders: runplan.Folders{KeepClaude: true, Persist: []string{".config/tool"}}}, dir: dir, store: store,
		script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{
			"cat $HISTFILE ~/.claude/plans/a.md ~/.config/tool/file ~/.claude/settings.json ~/.claude/.claude.json ~/.config/other; " +
				"readlink ~/.config/tool/far; stat -c %h:%n ~/.config/tool/hard; grep -l 71c0ffee ~/.claude/projects/*/*.jsonl; ls -l ~/.claude",
		}}}, Final: "done"},
	}).run(t, e)
	if second.err != nil || !second.result.Outcome.OK() {
		t.Fatal(second.err, second.result.Outcome)
	}
	out := second.stdout.String()
	for _, want := range []string{"echo line", "plan", `\nx\n`, `"disableSkillShellExecution`, `theme\\\":\\\"light`,
		"/.claude/projects/-workspace/", "No such file",
		`\n../../../../etc/os-release\n`, "2:/home/agent/.config/tool/hard", "noisy"} {
		if !strings.Contains(out, want) && !strings.Contains(out, strings.ReplaceAll(want, `\\\"`, `\"`)) {
			t.Errorf("the second run lacks %q", want)
		}
	}
	if strings.Contains(out, "SessionStart") || strings.Contains(out, "evil") {
		t.Error("the hook or the server is in the second run's settings")
	}
	if _, err := os.Lstat(dir + "/hooked"); err == nil {
		t.Error("the hook ran")
	}
	store.Close()
	// A run without a profile, or under another, finds nothing of it.
	other, err := root.Open("", dir, "three")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	o := shell("ls -A ~/.claude ~/.config/tool")
	o.Persist = []string{".config/tool"}
	third := (&trial{options: o, dir: dir, store: other}).run(t, e)
	if out := third.stdout.String(); third.err != nil || strings.Contains(out, "plans") || strings.Contains(out, "file") {
		t.Errorf("%v: %s", third.err, out)
	}
}

// The name that docs/threat-model.md gives for what --persist keeps.
func TestPersistedFoldersAreTheProjects(t *testing.T) {
	w := workspacetest.Folder(t)
	p := plan(t, runplan.Options{Folders: runplan.Folders{Persist: []string{".config/tool/deep", "bin"}}}, w)
	for i, target := range []string{"/home/agent/.config/tool/deep", "/home/agent/bin"} {
		if m := p.Agent.Mounts[len(p.Agent.Mounts)-2+i]; m.Target != target || m.Volume == "" || m.ReadOnly {
			t.Errorf("%+v", m)
		}
	}
	if p.Agent.Tmpfs["/home/agent/.config"] == "" || p.Agent.Tmpfs["/home/agent/.config/tool"] == "" {
		t.Errorf("the folders on the way are root's: %v", p.Agent.Tmpfs)
	}
}
