//go:build unix

package changes

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// project is a folder with a repository, two commits old, and a run in it.
type project struct {
	t      *testing.T
	dir    string
	keep   string // for copies, as a run's folder
	before *Before
	set    *Set
}

// newProject makes a repository with some files, all of them committed some time
// ago.
func newProject(t *testing.T) *project {
	t.Helper()
	testenv.Program(t, "git")
	p := &project{t: t, dir: t.TempDir(), keep: t.TempDir()}
	p.git("init", "-q", "-b", "main", ".")
	p.write("Makefile", "all:\n\techo built\n")
	p.write("src/main.go", "package main\n\nfunc main() {}\n")
	p.write("src/util.go", "package main\n")
	p.write("README.md", "# Project\n")
	p.git("add", "-A")
	p.git("commit", "-q", "-m", "one")
	p.settle()
	return p
}

// settle makes the index younger than the files, as it is some moments after a
// checkout.
func (p *project) settle() {
	p.t.Helper()
	p.git("update-index", "-q", "--refresh")
	index := filepath.Join(p.dir, ".git", "index")
	out, err := exec.Command("touch", "-d", "1 minute", index).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
}

func (p *project) git(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.example")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

// write writes a file as an editor would that keeps the inode.
func (p *project) write(rel, text string) {
	p.t.Helper()
	file := filepath.Join(p.dir, rel)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// sh runs the attack's shell commands in the project.
func (p *project) sh(script string) {
	p.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.example")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// take begins a run.
func (p *project) take() {
	p.t.Helper()
	b, err := Take(context.Background(), p.dir, Options{Keep: p.keep})
	if err != nil {
		p.t.Fatal(err)
	}
	p.before = b
	if err := b.Save(p.keep); err != nil {
		p.t.Fatal(err)
	}
}

// compare ends it.
func (p *project) compare() *Set {
	p.t.Helper()
	p.set = p.before.Compare(context.Background())
	again, err := Reopen(p.keep, p.before.secrets) // as after the death of this program
	if err != nil {
		p.t.Fatal(err)
	}
	if set := again.Compare(context.Background()); !reflect.DeepEqual(set, p.set) {
		p.t.Errorf("another process finds\n%+v\nand this one\n%+v", set, p.set)
	}
	again.root.Close()
	if again.store != nil {
		again.store.Close()
	}
	if err := p.before.Close(); err != nil {
		p.t.Error(err)
	}
	if left, err := os.ReadDir(p.keep); err != nil || len(left) > 0 {
		p.t.Errorf("left in the run's folder: %v, %v", left, err)
	}
	return p.set
}

// run is take, the attack and compare.
func (p *project) run(script string) *Set {
	p.t.Helper()
	p.take()
	p.sh(script)
	return p.compare()
}

// find returns the change of a path.
func (p *project) find(rel string) *Change {
	p.t.Helper()
	for i := range p.set.Changes {
		if p.set.Changes[i].Path == rel {
			return &p.set.Changes[i]
		}
	}
	p.t.Errorf("the change of %q is not shown; shown are:\n%s", rel, p.list())
	return &Change{}
}

// want checks a change's kind and that the patch holds some text.
func (p *project) want(rel string, kind Kind, texts ...string) {
	p.t.Helper()
	if c := p.find(rel); c.Kind != kind {
		p.t.Errorf("%q: got %q, want %q (%+v)", rel, c.Kind, kind, c)
	}
	for _, text := range texts {
		if !strings.Contains(p.patch(), text) {
			p.t.Errorf("%q is not in the diff:\n%s", text, p.patch())
		}
	}
}

// wantOnly checks that nothing else is shown.
func (p *project) wantOnly(rels ...string) {
	p.t.Helper()
	var got []string
	for _, c := range p.set.Changes {
		got = append(got, c.Path)
	}
	if fmt.Sprint(got) != fmt.Sprint(rels) || len(p.set.Unseen) > 0 {
		p.t.Errorf("got %q (unseen %q), want %q", got, p.set.Unseen, rels)
	}
}

func (p *project) patch() string {
	p.t.Helper()
	var out bytes.Buffer
	if err := p.set.WritePatch(&out); err != nil {
		p.t.Fatal(err)
	}
	return out.String()
}

func (p *project) list() string {
	p.t.Helper()
	var out bytes.Buffer
	if err := p.set.WriteList(&out, 20); err != nil {
		p.t.Fatal(err)
	}
	return out.String()
}
