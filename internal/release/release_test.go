package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

func TestVersionOfAModule(t *testing.T) {
	for module, want := range map[string]string{
		"v1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3-rc.1", "(devel)": unreleased, "": unreleased, "v1.2.3+dirty": unreleased,
		"v1.2.4-0.20260102030405-0123456789ab": unreleased, "v0.0.0-20260102030405-0123456789ab": unreleased,
	} {
		if got := versionOf(module); got != want {
			t.Errorf("%q: %q, want %q", module, got, want)
		}
	}
}

func TestFirewallImage(t *testing.T) {
	if got := FirewallImage(); got != "" {
		t.Errorf("a program from source takes %s", got)
	}
	FirewallDigest = "sha256:00"
	t.Cleanup(func() { FirewallDigest = "" })
	if got := FirewallImage(); got != "ghcr.io/org/claude-sandbox@sha256:00" {
		t.Error(got)
	}
}

// project is a repository with scripts/release and a remote, and a gh that notes its calls.
type project struct {
	t                *testing.T
	dir, log, remote string
}

func newProject(t *testing.T) *project {
	testenv.Program(t, "git")
	dir := t.TempDir()
	p := &project{t, filepath.Join(dir, "project"), filepath.Join(dir, "gh.log"), filepath.Join(dir, "remote.git")}
	script, err := os.ReadFile("../../scripts/release")
	if err != nil {
		t.Fatal(err)
	}
	gh := "#!/bin/sh\necho \"$*\" >>'" + p.log + "'\ncase $2 in view) cat '" + p.log + ".state' 2>/dev/null ;; esac\n"
	for name, text := range map[string]string{"project/scripts/release": string(script), "bin/gh": gh, "dist/file": "x",
		"dist/SHA256SUMS": "sum  file\n"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("SBX_REPOSITORY", "Some/claude-sandbox")
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"} {
		t.Setenv(name, "t")
	}
	p.ok("git", "init", "-q", "--bare", p.remote)
	p.ok("git", "init", "-q", "-b", "main")
	p.ok("git", "remote", "add", "origin", p.remote)
	p.ok("git", "add", "-A")
	return p
}

func (p *project) run(name string, args ...string) (string, error) {
	cmd := exec.CommandContext(p.t.Context(), name, args...)
	if cmd.Dir = p.dir; len(args) > 2 && args[2] == "--bare" {
		cmd.Dir = ""
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (p *project) ok(name string, args ...string) string {
	p.t.Helper()
	out, err := p.run(name, args...)
	if err != nil {
		p.t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return out
}

// release puts a tag on a new commit, publishes it, and moves the names to it.
func (p *project) release(version string) (calls, moves string) {
	p.t.Helper()
	p.ok("git", "commit", "-q", "--allow-empty", "-m", version)
	p.ok("git", "tag", "-m", version, "v"+version)
	p.ok("git", "push", "-q", "origin", "v"+version)
	_ = os.Remove(p.log)
	p.ok("scripts/release", "publish", "v"+version, "../dist")
	text, err := os.ReadFile(p.log)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text), p.ok("scripts/release", "move", "v"+version)
}

// A fix for an old line, and a prerelease, move no name of something newer.
func TestReleasesMoveTheirNames(t *testing.T) {
	p := newProject(t)
	for _, c := range []struct{ version, flags, latest, moves string }{
		{"1.2.3", "", "true", "v1.2 is v1.2.3\nv1 is v1.2.3\n"},
		{"1.1.9", "", "false", "v1.1 is v1.1.9\nv1 stays: there is something newer than v1.1.9\n"},
		{"1.10.0", "", "true", "v1.10 is v1.10.0\nv1 is v1.10.0\n"},
		{"1.9.1", "", "false", "v1.9 is v1.9.1\nv1 stays: there is something newer than v1.9.1\n"},
		{"2.0.0-rc.1", " --prerelease", "false", "v2.0.0-rc.1 is a prerelease: no other tag leads to it\n"},
	} {
		calls, moves := p.release(c.version)
		want := "release view v" + c.version + " --json isDraft --jq .isDraft\nrelease create v" + c.version +
			" --draft --verify-tag --generate-notes" + c.flags + " ../dist/SHA256SUMS ../dist/file\nrelease edit v" + c.version +
			" --draft=false --latest=" + c.latest + "\n"
		if calls != want || moves != c.moves {
			t.Errorf("%s: gh\n%smoves\n%s", c.version, calls, moves)
		}
	}
	for name, want := range map[string]string{"v1": "1.10.0", "v1.2": "1.2.3", "v1.1": "1.1.9", "v1.10": "1.10.0"} {
		if got := p.ok("git", "--git-dir", p.remote, "log", "-1", "--format=%s", name); got != want+"\n" {
			t.Errorf("%s is %s", name, got)
		}
	}
}

// A release is never changed once it is published; one that failed before is begun again.
func TestAReleaseIsPublishedOnce(t *testing.T) {
	p := newProject(t)
	if calls, _ := p.release("1.0.0"); !strings.Contains(calls, "create") {
		t.Fatal(calls)
	}
	for state, want := range map[string]string{"false": "is published", "true": ""} {
		if err := os.WriteFile(p.log+".state", []byte(state), 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(p.log)
		out, err := p.run("scripts/release", "publish", "1.0.0", "../dist")
		calls, _ := os.ReadFile(p.log)
		if (err != nil) != (want != "") || !strings.Contains(out, want) || strings.Contains(string(calls), "create") != (want == "") ||
			strings.Contains(string(calls), "release delete v1.0.0 --yes") != (want == "") {
			t.Errorf("a release with draft %s: %v: %s%s", state, err, out, calls)
		}
	}
}

func TestWhatCannotBeReleased(t *testing.T) {
	p := newProject(t)
	p.release("1.0.0")
	for version, want := range map[string]string{
		"next": "next is no version\nrelease: hint: give it as 1.2.3", "1.0.0": "the tag v1.0.0 exists",
	} {
		if out, err := p.run("scripts/release", "tag", version); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v: %s", version, err, out)
		}
	}
	if out, err := p.run("scripts/release", "check", "1.0.0", "../dist"); err == nil || !strings.Contains(out, "make release VERSION=1.0.0") {
		t.Errorf("a tag by hand: %v: %s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(p.dir, "internal/carried/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	sums := filepath.Join(p.dir, "scripts/release.sums")
	for text, want := range map[string]string{
		"sum  Some/claude-sandbox/releases/download/v1.0.0/file\n":   "",
		"other  Some/claude-sandbox/releases/download/v1.0.0/file\n": "the programs differ",
		"sum  Other/claude-sandbox/releases/download/v1.0.0/file\n":  "the programs differ",
	} {
		if err := os.WriteFile(sums, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := p.run("scripts/release", "check", "1.0.0", "../dist"); (err != nil) != (want != "") || !strings.Contains(out, want) {
			t.Errorf("%s: %v: %s", text, err, out)
		}
	}
	if err := os.Remove(sums); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := p.run("scripts/release", "tag", "1.0.1"); err == nil || !strings.Contains(out, "not committed") {
		t.Errorf("with changes: %v: %s", err, out)
	}
}
