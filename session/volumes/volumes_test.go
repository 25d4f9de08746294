package volumes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/enginetest"
)

// store is a user's with a cache folder of the test. Its volumes end with the test.
func store(t *testing.T) Store {
	t.Helper()
	s := Store{Engine: enginetest.Connect(t), Dir: t.TempDir()}
	t.Cleanup(func() {
		out, _ := exec.Command("docker", "volume", "ls", "-q", "--filter", "label=sbx-devc.test.owner").Output()
		for _, name := range strings.Fields(string(out)) {
			_ = exec.Command("docker", "volume", "rm", "-f", name).Run()
		}
	})
	return s
}

func take(t *testing.T, s Store, w Wanted) string {
	t.Helper()
	name, err := s.Take(t.Context(), w, func(string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(s.note(w)) + lockSuffix); err == nil {
		t.Error("the lock stays")
	}
	return name
}

func docker(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("docker", args...).CombinedOutput(); err != nil {
		t.Fatalf("docker %q: %v %s", args, err, out)
	}
}

// Attack: somebody has made a volume of the name under which one of ours lies: an
// engine makes one for any container that mounts it, and a volume can be another
// name for a folder of the machine.
func TestAttackAVolumeThatSomebodyElseMade(t *testing.T) {
	s := store(t)
	w := Wanted{Kind: "test", Key: "a", Content: "a package"}
	good := take(t, s, w)
	if again := take(t, s, w); again != good {
		t.Errorf("a filled volume is filled again: %s", again)
	}
	content, owner := "sbx-devc.test=a package", "sbx-devc.test.owner="+s.note(w).owner()
	for what, args := range map[string][]string{
		"made by a mount": nil,
		"a folder of the machine": {"-o", "type=none", "-o", "o=bind", "-o", "device=" + t.TempDir(),
			"--label", content, "--label", owner},
		"of another content": {"--label", content + "2", "--label", owner},
		"of another user":    {"--label", content, "--label", owner + "2"},
	} {
		docker(t, "volume", "rm", good)
		docker(t, append(append([]string{"volume", "create"}, args...), good)...)
		if got, err := s.Find(t.Context(), w); err != nil || got != "" {
			t.Errorf("a volume that is %s is taken: %v", what, err)
		}
	}
	docker(t, "volume", "rm", good)
	// A volume with all of the labels is none of ours: the note alone names it.
	docker(t, "volume", "create", "--label", content, "--label", owner, "sbx-test-with-our-labels")
	if again := take(t, s, w); again == good || again == "sbx-test-with-our-labels" {
		t.Errorf("%s is taken", again)
	}
}

func TestAVolumeThatCannotBeFilledIsGone(t *testing.T) {
	s := store(t)
	var made string
	if name, err := s.Take(t.Context(), Wanted{Kind: "test", Key: "a", Content: "a"}, func(name string) error {
		made = name
		return errors.New("no room")
	}); err == nil {
		t.Errorf("%s is taken", name)
	}
	if _, err := s.Engine.Volume(t.Context(), made); err == nil {
		t.Errorf("%s is still there", made)
	}
}

// A changed content replaces the volume, and what is removed is made anew.
func TestVolumesAreReplacedListedAndRemoved(t *testing.T) {
	s := store(t)
	first := take(t, s, Wanted{Kind: "test", Key: "a", Content: "one"})
	second := take(t, s, Wanted{Kind: "test", Key: "a", Content: "two"})
	other := take(t, s, Wanted{Kind: "test", Key: "b", Content: "three"})
	kept, err := s.List(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Measure(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, k := range kept {
		names = append(names, fmt.Sprintf("%s %s %d", k.Name, k.Content, k.Bytes))
	}
	if want := []string{other + " three 0", second + " two 0"}; strings.Join(names, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q and not %q; %s was replaced", names, want, first)
	}
	for _, k := range kept {
		if err := os.WriteFile(string(k.note)+lockSuffix, nil, 0o600); err != nil { // of one that was killed
			t.Fatal(err)
		}
		if err := s.Remove(t.Context(), k); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(s.Dir, notes)); len(left) > 0 {
		t.Errorf("the cache keeps %v", left)
	}
	if kept, err := s.List(t.Context(), "test"); err != nil || len(kept) > 0 {
		t.Errorf("%v %v", kept, err)
	}
	if again := take(t, s, Wanted{Kind: "test", Key: "b", Content: "three"}); again == other {
		t.Error("a removed volume is taken")
	}
}

// Attack: a clone in the place of a removed project would get the caches of that
// project's agents, and fill those of the next one. So would a project that is
// moved over another one, or another user's.
func TestAttackTheCacheOfAnotherProject(t *testing.T) {
	base := t.TempDir()
	of := func(name string, uid int) string {
		t.Helper()
		w, err := cacheOf(filepath.Join(base, name), uid, 1000)
		if err != nil {
			t.Fatal(err)
		}
		return w.Content
	}
	mkdir := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mkdir("app")
	app := of("app", 1000)
	if of("app", 1000) != app {
		t.Error("the cache of a project is another one the second time")
	}
	if err := os.Symlink("app", filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if of("link", 1000) != app {
		t.Error("a link to a project leads to another cache")
	}
	if of("app", 1001) == app {
		t.Error("agents of two users have one cache")
	}
	// The inode's number is used again at once by most file systems.
	for range 20 {
		if err := os.RemoveAll(filepath.Join(base, "app")); err != nil {
			t.Fatal(err)
		}
		mkdir("app")
		if of("app", 1000) == app {
			t.Fatal("a folder in the place of a removed one has its cache")
		}
	}
	app = of("app", 1000)
	mkdir("other")
	if err := os.Rename(filepath.Join(base, "app"), filepath.Join(base, "away")); err != nil {
		t.Fatal(err)
	}
	if of("away", 1000) == app {
		t.Error("a project takes its cache along to another path")
	}
	if err := os.Rename(filepath.Join(base, "other"), filepath.Join(base, "app")); err != nil {
		t.Fatal(err)
	}
	if of("app", 1000) == app {
		t.Error("a project that was moved over another one has its cache")
	}
}

// Parallel agents use linked worktrees, whose repository itself names them.
func TestLinkedWorktreesShareACache(t *testing.T) {
	base := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.org", "-C", base}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v %s", args, err, out)
		}
	}
	git("init", "-q", "app")
	git("-C", "app", "commit", "-q", "--allow-empty", "-m", "x")
	git("-C", "app", "worktree", "add", "-q", "../second")
	main, err := cacheOf(filepath.Join(base, "app"), 1000, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := cacheOf(filepath.Join(base, "second"), 1000, 1000); err != nil || second != main {
		t.Errorf("%+v and %+v: %v", main, second, err)
	}
	// A project that says of itself that it is one of them is not believed.
	evil := filepath.Join(base, "evil")
	if err := os.Mkdir(evil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(evil, ".git"), []byte("gitdir: "+filepath.Join(base, "app/.git/worktrees/second")+"\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := cacheOf(evil, 1000, 1000); err != nil || got == main {
		t.Errorf("%+v: %v", got, err)
	}
}
