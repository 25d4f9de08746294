package repotest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/semver"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// published are the folders of what dev container tools find by its version.
var published = map[string]string{"templates/src": "devcontainer-template.json", "features/src": "devcontainer-feature.json"}

// staleVersions names what has another content than at the last release and
// not a higher version, in the repository at dir. Each release also writes its
// own sbx-init into templates and Feature, so at a release every version has
// to be higher than at the one before.
func staleVersions(dir string) ([]string, error) {
	git := func(args ...string) (string, error) {
		cmd := exec.Command("git", append([]string{"-c", "safe.directory=*"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	here, err := git("tag", "--list", "v*", "--points-at", "HEAD")
	if err != nil {
		return nil, err
	}
	all, err := git("tag", "--list", "v*", "--merged", "HEAD")
	if err != nil {
		return nil, err
	}
	last := ""
	for tag := range strings.FieldsSeq(all) {
		release := semver.IsValid(tag) && semver.Prerelease(tag) == "" && tag == semver.Canonical(tag) // not v1, which moves
		if release && !strings.Contains("\n"+here+"\n", "\n"+tag+"\n") && semver.Compare(tag, last) > 0 {
			last = tag
		}
	}
	if last == "" {
		return nil, nil
	}
	var stale []string
	for folder, manifest := range published {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			name := path.Join(folder, e.Name())
			was, err := git("show", last+":"+path.Join(name, manifest))
			if err != nil {
				continue // it is new
			}
			now, err := os.ReadFile(filepath.Join(dir, name, manifest))
			if err != nil {
				return nil, err
			}
			before, after := version([]byte(was)), version(now)
			changed, err := git("diff", "--name-only", last, "--", name)
			if err != nil {
				return nil, err
			}
			if (changed != "" || here != "") && semver.Compare("v"+after, "v"+before) <= 0 {
				stale = append(stale, fmt.Sprintf("%s is %s, as in %s, and has another content", name, after, last))
			}
		}
	}
	return stale, nil
}

func version(manifest []byte) string {
	var m struct{ Version string }
	json.Unmarshal(manifest, &m) //nolint:errcheck // without a version it compares as the lowest
	return m.Version
}

// A version that was published stays what it was.
func TestChangedTemplatesHaveNewVersions(t *testing.T) {
	testenv.Slow(t)
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("this is no checkout, so there is no release to compare with")
	}
	testenv.Program(t, "git")
	if shallow, err := exec.Command("git", "-c", "safe.directory=*", "-C", root, "rev-parse",
		"--is-shallow-repository").Output(); err != nil || strings.TrimSpace(string(shallow)) != "false" {
		testenv.Missing(t, "the repository's history and tags", "check out with fetch-depth: 0")
	}
	stale, err := staleVersions(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stale {
		t.Errorf("%s: raise its version (templates/parts, then make golden)", s)
	}
}

// The same in a repository with releases.
func TestStaleVersions(t *testing.T) {
	testenv.Program(t, "git")
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.example"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	is := func(want string) {
		t.Helper()
		stale, err := staleVersions(dir)
		if got := strings.Join(stale, "; "); err != nil || got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	commit := func(text string, tags ...string) {
		t.Helper()
		git("add", "-A")
		git("commit", "-q", "--allow-empty", "-m", text)
		for _, tag := range tags {
			git("tag", "-f", tag)
		}
	}
	feature := func(version string) {
		write("features/src/f/devcontainer-feature.json", `{"version": "`+version+`"}`)
	}
	template := func(version string) {
		write("templates/src/t/devcontainer-template.json", `{"version": "`+version+`"}`)
	}
	git("init", "-q")
	feature("1.0.0")
	template("0.2.0")
	commit("a", "v1")
	is("") // nothing is released yet
	commit("a", "v1.9.0", "v1")
	is("")
	commit("b")
	is("")
	write("templates/src/t/.devcontainer/x", "x")
	git("add", "-A")
	is("templates/src/t is 0.2.0, as in v1.9.0, and has another content")
	template("0.2.1")
	is("")
	commit("c", "v1.10.0-rc.1")
	is("features/src/f is 1.0.0, as in v1.9.0, and has another content") // another sbx-init is in it
	feature("1.1.0")
	commit("d", "v1.10.0", "v1")
	is("")
	template("0.2.0")
	is("templates/src/t is 0.2.0, as in v1.9.0, and has another content")
}
