package gitdir

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Attack: an agent leaves a repository in a folder of its own, which git on the host obeys
// as soon as a prompt, an editor or a person goes there. Everything that a fresh clone or git's own
// commands leave stays a repository.
func TestAttackAPlantedRepositoryIsObeyed(t *testing.T) {
	testenv.Program(t, "git")
	dir := t.TempDir()
	marker := filepath.Join(t.TempDir(), "marker")
	git := func(at string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = filepath.Join(dir, at)
		cmd.Env = append(environment(), "HOME=/nonexistent", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.example", "GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@b.example")
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	git("", "init", "-q", "upstream")
	git("upstream", "commit", "-q", "--allow-empty", "-m", "x")
	evil := "[core]\n\tfsmonitor = \"touch " + marker + "; false\"\n"
	for name, c := range map[string]struct {
		make func(repository string) error
		acts string // "" = a plain clone
		at   string // the git directory; "" = .git
	}{
		"plain": {func(string) error { return nil }, "", ""},
		"daily": {func(at string) error {
			git(at, "config", "user.email", "a@b.example")
			git(at, "config", "commit.gpgsign", "false")
			git(at, "checkout", "-qb", "topic")
			git(at, "remote", "add", "fork", "https://example.org/fork.git")
			return os.Remove(filepath.Join(dir, at, ".git", "description"))
		}, "", ""},
		"submodule": {func(at string) error {
			git(at, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", filepath.Join(dir, "upstream"), "sub")
			return nil
		}, "", ".git/modules/sub"},
		"worktree": {func(at string) error {
			git(at, "worktree", "add", "-q", "../linked")
			return nil
		}, "", ".git/worktrees/linked"},
		"setting": {func(at string) error { return appendTo(filepath.Join(dir, at, ".git/config"), evil) }, "core.fsmonitor", ""},
		"include": {func(at string) error {
			return appendTo(filepath.Join(dir, at, ".git/config"), "[include]\npath=../x\n")
		}, "include.path", ""},
		"elsewhere": {func(at string) error { git(at, "config", "core.worktree", "/"); return nil }, "core.worktree", ""},
		"up":        {func(at string) error { git(at, "config", "core.worktree", "../../.."); return nil }, "core.worktree", ""},
		"worktrees config": {func(at string) error {
			return errors.Join(appendTo(filepath.Join(dir, at, ".git/config"), "[extensions]\nworktreeConfig=true\n"),
				appendTo(filepath.Join(dir, at, ".git/config.worktree"), evil))
		}, "core.fsmonitor", ""},
		"partial clone": {func(at string) error { git(at, "config", "remote.origin.promisor", "true"); return nil }, "remote.promisor", ""},
		"hook": {func(at string) error {
			return os.WriteFile(filepath.Join(dir, at, ".git/hooks/post-checkout"), []byte("#!/bin/sh\ntouch "+marker), 0o755)
		}, "hooks/post-checkout", ""},
		"led away": {func(at string) error {
			return appendTo(filepath.Join(dir, at, ".git/commondir"), "../../upstream/.git\n")
		}, "commondir", ""},
		"no text": {func(at string) error {
			file := filepath.Join(dir, at, ".git/config")
			return errors.Join(os.Remove(file), os.Symlink("../x", file))
		}, "config, which cannot be read", ""},
		"closed": {func(at string) error {
			return errors.Join(appendTo(filepath.Join(dir, at, ".git/config"), evil), os.Chmod(filepath.Join(dir, at, ".git"), 0o500))
		}, "core.fsmonitor", ""},
	} {
		t.Run(name, func(t *testing.T) {
			at := strings.ReplaceAll(name, " ", "-")
			git("", "clone", "-q", "upstream", at)
			if err := c.make(at); err != nil {
				t.Fatal(err)
			}
			found, err := Disarm(t.Context(), dir, []string{at + "/" + cmp.Or(c.at, ".git")})
			if err != nil {
				t.Fatal(err)
			}
			if c.acts == "" {
				if out := git(at, "status", "--short", "--branch"); len(found) > 0 || !strings.HasPrefix(out, "## ") {
					t.Errorf("it is no repository any more: %v, %s", found, out)
				}
				return
			}
			if len(found) != 1 || found[0].Err != nil ||
				!slices.ContainsFunc(found[0].Acts, func(act string) bool { return strings.HasPrefix(act, c.acts) }) {
				t.Fatalf("got %v", found)
			}
			out := git(at, "status") + git(at, "checkout", "-b", "other")
			if os.Remove(marker) == nil || !strings.Contains(out, "not a git repository") {
				t.Errorf("git obeys it: %s", out)
			}
			if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(found[0].Head))); err != nil {
				t.Error(err)
			}
		})
	}
	many := slices.Repeat([]string{"plain/.git"}, maxConfigs+1)
	if found, _ := Disarm(t.Context(), dir, many); len(found) != 1 {
		t.Errorf("of more than can be looked at: %v", found)
	}
}

func appendTo(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(file, append(old, text...), 0o644)
}
