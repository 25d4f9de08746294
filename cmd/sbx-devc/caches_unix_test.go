//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Packages that were fetched in a run are there in the project's next one, belong to
// the agent, and reach no other project: not the one that takes the place of a
// removed one, either. clean removes them.
func TestAttackTheCachesOfAnotherProject(t *testing.T) {
	var said string
	// look runs an agent that tells what an earlier one left in its cache, and leaves
	// something there, in a folder that package managers use.
	look := func(project string, flags ...string) string {
		t.Helper()
		r := runProgram(t, []string{scripted(t, `mkdir -p ~/.cache && cd ~/.cache && cat mine "$npm_config_cache/left" >/workspace/found 2>&1
			mkdir -p "$npm_config_cache" && echo poison | tee "$npm_config_cache/left" >mine && stat -c %u:%a . >>/workspace/found`)})
		r.Args, r.Dir = append([]string{r.Path, "run", project, "-p"}, flags...), project
		r.begin(t, "install it")
		if code := endOf(t, r); code != exitOK {
			t.Fatalf("ends with %d: %s", code, r.said(t))
		}
		said = r.said(t)
		found, err := os.ReadFile(filepath.Join(project, "found"))
		if err != nil {
			t.Fatal(err)
		}
		return string(found)
	}
	base := t.TempDir()
	folder := func(name string) string {
		t.Helper()
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 { // the agent never is root
			if err := os.Chown(dir, 1000, 1000); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	app, other := folder("app"), folder("other")
	defer func() {
		for _, dir := range []string{app, other} {
			if code, _, said := call(t, "clean", dir); code != exitOK {
				t.Error(said)
			}
		}
	}()
	if found := look(app); strings.Contains(found, "poison") || !strings.Contains(found, ":700\n") || strings.HasPrefix(found, "0:") {
		t.Fatalf("the first run finds %q\n%s", found, said)
	}
	if found := look(app); strings.Count(found, "poison") != 2 {
		t.Errorf("the second run finds %q\n%s", found, said)
	}
	if found := look(app, "--no-cache"); strings.Contains(found, "poison") {
		t.Errorf("a run without caches finds %q", found)
	}
	if found := look(other); strings.Contains(found, "poison") {
		t.Errorf("another project's agent finds %q", found)
	}
	_, _, listed := call(t, "clean", "--dry-run", app)
	if want := "would remove the package managers' caches of " + app + ", 14 B\n"; !strings.Contains(listed, want) {
		t.Errorf("%q is not in %q", want, listed)
	}
	if err := os.Rename(app, app+".away"); err != nil {
		t.Fatal(err)
	}
	if found := look(folder("app")); strings.Contains(found, "poison") {
		t.Errorf("the agent of a project in another one's place finds %q", found)
	}
	if code, _, listed := call(t, "clean", app); code != exitOK || strings.Count(listed, "removed the package managers' caches of "+app) != 1 {
		t.Errorf("%d %s", code, listed)
	}
	if found := look(app); strings.Contains(found, "poison") {
		t.Errorf("after clean the agent finds %q", found)
	}
}
