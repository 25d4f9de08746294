package trust

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filelock"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/settings"
)

const narrowText, wideText = `{"network": {}}`, `{"network": {"allow": ["paste.example.com"]}}`

func openStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(userdir.Dir(filepath.Join(t.TempDir(), "config", "sbx-devc")), "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newProject writes a project's settings and returns its name and what they are.
func newProject(t *testing.T, text string, lists ...string) (dir, project string, c Content) {
	t.Helper()
	dir = t.TempDir()
	write(t, filepath.Join(dir, ".devcontainer", "sandbox.jsonc"), text)
	for i := 0; i+1 < len(lists); i += 2 {
		write(t, filepath.Join(dir, ".devcontainer", lists[i]), lists[i+1])
	}
	project, err := Project(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, project, read(t, dir)
}

func read(t *testing.T, dir string) Content {
	t.Helper()
	file, err := settings.ReadFile(filepath.Join(dir, ".devcontainer", "sandbox.jsonc"))
	if err != nil {
		t.Fatal(err)
	}
	return Of(file)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, s *Store, project string, c Content, standing Standing) Answer {
	t.Helper()
	a, err := s.Look(project, c)
	if err != nil || a.Standing != standing {
		t.Fatalf("got %+v, %v; want %d", a, err, standing)
	}
	return a
}

func accept(t *testing.T, s *Store, project string, c Content) {
	t.Helper()
	if err := s.Accept(project, c, "trust"); err != nil {
		t.Fatal(err)
	}
}

func TestAcceptedUntilChangedOrRemoved(t *testing.T) {
	s := openStore(t)
	dir, project, c := newProject(t, narrowText)
	want(t, s, project, c, Unknown)
	if _, err := os.Stat(string(s.dir)); err == nil {
		t.Error("a question made the user's folder")
	}
	accept(t, s, project, c)
	want(t, s, project, c, Trusted)

	write(t, filepath.Join(dir, ".devcontainer", "sandbox.jsonc"), wideText)
	changed := read(t, dir)
	a := want(t, s, project, changed, Changed)
	if d := changed.Diff(a.Accepted); !strings.Contains(d, "-"+narrowText) || !strings.Contains(d, "+"+wideText) {
		t.Errorf("the difference is\n%s", d)
	}
	accept(t, s, project, changed)
	want(t, s, project, changed, Trusted)
	want(t, s, project, c, Changed)
	if copies, _ := os.ReadDir(s.dir.File(copies)); len(copies) != 1 {
		t.Errorf("%d copies are kept of one project", len(copies))
	}
	if removed, err := s.Remove(project); !removed || err != nil {
		t.Fatal(removed, err)
	}
	want(t, s, project, changed, Unknown)
	for _, name := range []string{".", storeName, copies} {
		if info, err := os.Stat(s.dir.File(name)); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v: others can read it", name, info.Mode(), err)
		}
	}
}

// Attack: the text stays, and a list that it names opens more.
func TestAttackAListOfTheFileChanges(t *testing.T) {
	s := openStore(t)
	dir, project, c := newProject(t, `{"network": {"allow": ["@hosts.txt"]}}`, "hosts.txt", "docs.example.com\n")
	accept(t, s, project, c)
	want(t, s, project, read(t, dir), Trusted)
	write(t, filepath.Join(dir, ".devcontainer", "hosts.txt"), "docs.example.com\npaste.example.com\n")
	now := read(t, dir)
	a := want(t, s, project, now, Changed)
	if d := now.Diff(a.Accepted); !strings.Contains(d, "+paste.example.com") {
		t.Errorf("the difference does not show the list:\n%s", d)
	}
}

// Attack: the file changes between the question and the answer.
func TestAttackTheFileChangesDuringTheQuestion(t *testing.T) {
	s := openStore(t)
	dir, project, shown := newProject(t, narrowText)
	write(t, filepath.Join(dir, ".devcontainer", "sandbox.jsonc"), wideText) // while the person reads
	accept(t, s, project, shown)
	want(t, s, project, shown, Trusted)
	want(t, s, project, read(t, dir), Changed)
}

// Attack: a project brings the text that a user accepted elsewhere, or stands at a
// path that looks like the accepted one.
func TestAttackAnotherProjectWithAnAcceptedText(t *testing.T) {
	s := openStore(t)
	_, project, c := newProject(t, wideText)
	accept(t, s, project, c)
	_, other, same := newProject(t, wideText)
	if a := want(t, s, other, same, Unknown); !slices.Equal(a.Elsewhere, []string{project}) {
		t.Errorf("accepted elsewhere: %q", a.Elsewhere)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(project, link); err != nil {
		testenv.Missing(t, "the right to make links", err.Error())
	}
	if name, err := Project(link); err != nil || name != project {
		t.Errorf("a link to the project is %q, %v", name, err)
	}
}

// Two contents that differ in where one text ends and another begins are two.
func TestContentsAreToldApart(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []Content{
		{"sandbox.jsonc": []byte("ab")}, {"sandbox.jsonc": []byte("a"), "@b": nil}, {"sandbox.jsonc": []byte("a"), "@": []byte("b")},
		{"sandbox.jsonca": []byte("b")}, {"sandbox.jsonc": []byte("a\xff")}, {"sandbox.jsonc": []byte("a\ufffd")},
	} {
		if seen[c.Digest()] {
			t.Errorf("%q has the digest of another content", c)
		}
		seen[c.Digest()] = true
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func TestLinkedWorktreesAreOneProject(t *testing.T) {
	s := openStore(t)
	dir, project, c := newProject(t, wideText)
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "first")
	tree := filepath.Join(t.TempDir(), "tree")
	git(t, dir, "worktree", "add", "-q", tree)
	accept(t, s, project, c)
	name, err := Project(tree)
	if err != nil || name != project {
		t.Fatalf("got %q, %v; want %q", name, err, project)
	}
	want(t, s, name, read(t, tree), Trusted)
	if err := os.Mkdir(filepath.Join(tree, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if linked := Linked(project); !slices.Equal(linked, []string{tree}) {
		t.Errorf("the linked worktrees are %q", linked)
	}
	if name, err := Project(filepath.Join(tree, "sub")); err != nil || name != filepath.Join(project, "sub") {
		t.Errorf("a subfolder is %q, %v", name, err)
	}
	bare := filepath.Join(t.TempDir(), "bare.git")
	git(t, dir, "clone", "-q", "--bare", dir, bare)
	tree = filepath.Join(t.TempDir(), "tree")
	git(t, bare, "worktree", "add", "-q", tree)
	if name, err := Project(tree); err != nil || !strings.HasSuffix(name, "bare.git") {
		t.Errorf("a worktree of a bare repository is %q, %v", name, err)
	}
}

// Attack: a project's .git file says that it is a worktree of a trusted repository.
func TestAttackAFolderSaysThatItIsAWorktree(t *testing.T) {
	s := openStore(t)
	dir, project, c := newProject(t, wideText)
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "first")
	own := filepath.Join(t.TempDir(), "own")
	git(t, dir, "worktree", "add", "-q", own)
	accept(t, s, project, c)
	entry := filepath.Join(dir, ".git", "worktrees", "own")
	for name, plant := range map[string]func(evil string){
		"the entry of another worktree": func(evil string) { write(t, filepath.Join(evil, ".git"), "gitdir: "+entry+"\n") },
		"the repository itself":         func(evil string) { write(t, filepath.Join(evil, ".git"), "gitdir: "+filepath.Join(dir, ".git")+"\n") },
		"an entry of its own, with the repository as commondir": func(evil string) {
			write(t, filepath.Join(evil, ".git"), "gitdir: .own/worktrees/x\n")
			write(t, filepath.Join(evil, ".own", "worktrees", "x", "gitdir"), filepath.Join(evil, ".git")+"\n")
			write(t, filepath.Join(evil, ".own", "worktrees", "x", "commondir"), filepath.Join(dir, ".git")+"\n")
		},
		"an entry of its own in a link to the repository": func(evil string) {
			write(t, filepath.Join(evil, ".git"), "gitdir: worktrees/x\n")
			write(t, filepath.Join(evil, "worktrees", "x", "gitdir"), filepath.Join(evil, ".git")+"\n")
			write(t, filepath.Join(evil, "worktrees", "x", "commondir"), filepath.Join(dir, ".git")+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			evil, _, text := newProject(t, wideText)
			plant(evil)
			name, err := Project(evil)
			if err != nil || name == project {
				t.Fatalf("the folder is %q, %v", name, err)
			}
			want(t, s, name, text, Unknown)
		})
	}
}

// A store that cannot be read is no empty one.
func TestABrokenStoreIsAnError(t *testing.T) {
	s := openStore(t)
	_, project, c := newProject(t, wideText)
	accept(t, s, project, c)
	good, err := os.ReadFile(s.dir.File(storeName))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", string(good[:len(good)/2]), `[]`, `{"schemaVersion": 2, "projects": []}`,
		`{"schemaVersion": 1, "projects": [], "more": 1}`, string(good) + "{}"} {
		write(t, s.dir.File(storeName), text)
		if a, err := s.Look(project, c); err == nil || diag.HintOf(err) == "" {
			t.Errorf("%q: %+v, %v", text, a, err)
		}
		if err := s.Accept(project, c, "trust"); err == nil {
			t.Errorf("%q was replaced", text)
		}
		if now, _ := os.ReadFile(s.dir.File(storeName)); string(now) != text {
			t.Errorf("%q became %q", text, now)
		}
	}
}

func TestALostCopyCostsTheDifferenceOnly(t *testing.T) {
	s := openStore(t)
	_, project, c := newProject(t, narrowText)
	accept(t, s, project, c)
	write(t, s.copyPath(c.Digest()), `{"sandbox.jsonc": "AAAA"}`)
	want(t, s, project, c, Trusted)
	if a := want(t, s, project, c.With("sandbox.jsonc", nil), Changed); a.Accepted != nil {
		t.Errorf("another text passes for what was accepted: %q", a.Accepted)
	}
}

func TestKeepFollowsTheUsersOwnEdit(t *testing.T) {
	s := openStore(t)
	_, project, c := newProject(t, narrowText)
	edited := c.With("sandbox.jsonc", []byte(wideText))
	if kept, err := s.Keep(project, c, edited, "learn"); kept || err != nil {
		t.Fatal(kept, err)
	}
	want(t, s, project, edited, Unknown)
	accept(t, s, project, c)
	if kept, err := s.Keep(project, c, edited, "learn"); !kept || err != nil {
		t.Fatal(kept, err)
	}
	want(t, s, project, edited, Trusted)
	if kept, err := s.Keep(project, c, c, "learn"); kept || err != nil {
		t.Errorf("an edit of a text that is not the accepted one was kept: %v, %v", kept, err)
	}
}

// No writer loses what another one wrote.
func TestManyWriters(t *testing.T) {
	s := openStore(t)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if err := s.Accept(fmt.Sprintf("/project/%d", i), Content{"sandbox.jsonc": []byte{byte(i)}}, "trust"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	entries, err := s.List()
	if err != nil || len(entries) != 16 {
		t.Errorf("%d entries of 16, %v", len(entries), err)
	}
	lock, err := s.lock()
	if err != nil {
		t.Fatal(err)
	}
	s.wait = time.Millisecond
	if err := s.Accept("/project/x", Content{}, "trust"); !errors.Is(err, ErrBusy) {
		t.Errorf("next to another writer: %v", err)
	}
	lock.Close()
	f, err := os.Open(s.dir.File(lockName))
	if err != nil {
		t.Fatal(err)
	}
	if free, err := filelock.Try(f); !free || err != nil {
		t.Errorf("the lock is not free afterwards: %v", err)
	}
	f.Close()
}
