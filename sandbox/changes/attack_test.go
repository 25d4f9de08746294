//go:build unix

package changes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/workspace/obeyed"
)

func TestNothingChangedIsNothing(t *testing.T) {
	p := newProject(t)
	p.write("untracked.txt", "one\n")
	p.run(`cat Makefile >/dev/null; git status >/dev/null; touch -a README.md; chmod 600 src/main.go; chmod 644 src/main.go; ` +
		`cp untracked.txt x; mv x untracked.txt`)
	for _, c := range p.set.Changes {
		if c.Class != obeyed.None || !strings.HasPrefix(c.Path, ".git") { // git's index, which status refreshed
			t.Errorf("shown without reason: %+v", c)
		}
	}
}

func TestOrdinaryWorkIsShown(t *testing.T) {
	p := newProject(t)
	p.write("notes.txt", "not committed\n")
	p.run(`
printf 'package main\n\nfunc main() { run() }\n' > src/main.go
rm src/util.go
echo more >> notes.txt
chmod +x README.md
ln -s README.md link
mkdir empty
printf 'package main\n\nfunc run() {}\n' > src/run.go`)
	p.want("src/main.go", Changed, "-func main() {}\n+func main() { run() }\n")
	p.want("src/util.go", Removed, "deleted file mode 100644\n--- a/src/util.go\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-package main\n")
	p.want("notes.txt", Changed, " not committed\n+more\n")
	p.want("README.md", Mode, "old mode 100644\nnew mode 100755\n")
	p.want("link", Added, "new file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1,1 @@\n+README.md\n\\ No newline at end of file\n")
	p.want("empty", Added)
	p.want("src/run.go", Added, "new file mode 100644\n--- /dev/null\n+++ b/src/run.go\n")
	p.wantOnly("README.md", "empty", "link", "notes.txt", "src/main.go", "src/run.go", "src/util.go")
	if p.set.Files != 7 || p.set.Plus != 6 || p.set.Minus != 2 {
		t.Errorf("counted %d files, +%d -%d", p.set.Files, p.set.Plus, p.set.Minus)
	}
}

// A system gives the number of a removed file to the next new one: that is a move where
// the content says so, and else a removal and a new file.
func TestAReusedNumberIsNoMove(t *testing.T) {
	p := newProject(t)
	long := strings.Repeat("a line of the file\n", 300)
	p.write("long.txt", long)
	p.write("other.txt", long)
	p.run(`
mv src/util.go src/moved.go
mv README.md notes; printf 'nothing of it\n' >notes
mv long.txt edited.txt; echo more >>edited.txt
mv other.txt unlike.txt; { echo first; cat edited.txt; } >unlike.txt`)
	for path, from := range map[string]string{"src/moved.go": "src/util.go", "notes": "", "edited.txt": "long.txt", "unlike.txt": ""} {
		if c := p.find(path); c == nil || c.Kind != Added || c.From != from {
			t.Errorf("%s is not new, from %q", path, from)
		}
	}
}

// The patch of a run brings another copy of the project to the same state.
func TestThePatchCanBeApplied(t *testing.T) {
	p := newProject(t)
	p.write("notes.txt", "one\n")
	copied := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", p.dir, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.run(`
printf 'package main\n\nfunc main() { run() }' > src/main.go
rm src/util.go; : > src/empty.go; printf 'a\r\nb\r\n' > crlf.txt
echo two >> notes.txt; chmod +x README.md
ln -s ../README.md src/link
rm Makefile; ln -s README.md Makefile
printf x > 'with space.txt'; printf y > "$(printf 'new\nline\t"q"\\.txt')"; printf z > 'ümlaut.txt'`)
	cmd := exec.Command("git", "apply", "--whitespace=nowarn", "-")
	cmd.Dir, cmd.Stdin = copied, strings.NewReader(p.patch())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, p.patch())
	}
	if out, err := exec.Command("diff", "-r", "--no-dereference", "--exclude=.git", p.dir, copied).CombinedOutput(); err != nil {
		t.Errorf("the copy differs: %s", out)
	}
	if info, err := os.Stat(filepath.Join(copied, "README.md")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("the mode was not applied: %v, %v", info, err)
	}
}

// Attack: git's own means of not showing a change. Each is shown, and git says
// nothing about it.
func TestAttackBlindGit(t *testing.T) {
	const evil = `printf 'all:\n\tevil\n' > Makefile; `
	for name, a := range map[string]struct {
		script  string
		silent  bool   // git status and git diff say nothing
		changed string // "" = Makefile
	}{
		"skip-worktree":    {script: evil + `git update-index --skip-worktree Makefile`, silent: true},
		"assume-unchanged": {script: evil + `git update-index --assume-unchanged Makefile`, silent: true},
		"info/exclude": {script: `echo 'import os' > conftest.py; echo conftest.py >> .git/info/exclude`, silent: true,
			changed: "conftest.py"},
		".gitignore": {script: `echo 'import os' > conftest.py; printf 'conftest.py\n.gitignore\n' > .gitignore`, silent: true,
			changed: "conftest.py"},
		"attribute -diff":  {script: evil + `echo 'Makefile -diff' > .git/info/attributes`},
		"attribute binary": {script: evil + `echo 'Makefile binary' > .gitattributes`},
		"textconv":         {script: evil + `echo 'Makefile diff=x' > .gitattributes; git config diff.x.textconv 'true'`},
		"filter": {
			script: evil +
				`echo 'Makefile filter=x' > .git/info/attributes; git config filter.x.clean "git cat-file blob HEAD:Makefile"; ` +
				`git config filter.x.smudge cat; git add Makefile`, silent: true},
		"working-tree-encoding": {script: evil + `echo 'Makefile working-tree-encoding=UTF-16' > .gitattributes`},
		"mtime set back": {
			script: `printf 'all:\n\techo BUILT\n' > Makefile; touch -r README.md Makefile; git update-index --skip-worktree Makefile`,
			silent: true},
		"commit and replace": {
			script: evil + `git add -A; git commit -qm evil; git replace HEAD HEAD^ 2>/dev/null || git replace -f HEAD HEAD^`},
		"commit and reset --soft": {script: evil + `git commit -qam evil`, silent: true},
		"fsmonitor and untracked": {
			script: evil + `git config core.fsmonitor "echo"; git config core.untrackedCache true; git config status.showUntrackedFiles no`},
		"core.worktree":          {script: evil + `mkdir /tmp/elsewhere-$$; git config core.worktree /tmp/elsewhere-$$; rmdir /tmp/elsewhere-$$`},
		"no repository any more": {script: evil + `mv .git .hidden`},
		"an index of no form":    {script: evil + `echo rubbish > .git/index`},
		"objects that lie": {script: `printf 'all:\n\techo evil1\n' > Makefile
b=$(git rev-parse HEAD:Makefile); f=.git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-)
e=$(git hash-object -w Makefile); chmod u+w $f; cp -f .git/objects/$(echo $e | cut -c1-2)/$(echo $e | cut -c3-) $f`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.run(a.script)
			if a.silent {
				if out := p.git("status", "--porcelain") + p.git("diff", "HEAD"); out != "" {
					t.Errorf("git sees this trick, so it shows nothing: %s", out)
				}
			}
			if a.changed == "" {
				text := "evil"
				if name == "mtime set back" {
					text = "+\techo BUILT"
				}
				p.want("Makefile", Changed, text)
			} else {
				p.want(a.changed, Added, "+import os")
			}
		})
	}
}

// Attack: what was hidden from git before the run must not blind us in it.
func TestAttackFilesThatGitHidFromTheBeginning(t *testing.T) {
	p := newProject(t)
	p.sh(`git update-index --skip-worktree Makefile; git update-index --assume-unchanged README.md
printf 'all:\n\tmine\n' > Makefile; echo mine > README.md; echo local > ignored.txt; echo ignored.txt >> .git/info/exclude`)
	p.run(`printf 'all:\n\tevil\n' > Makefile; echo evil > README.md; echo evil >> ignored.txt`)
	p.want("Makefile", Changed, "-\tmine\n+\tevil\n")
	p.want("README.md", Changed, "-mine\n+evil\n")
	p.want("ignored.txt", Changed, " local\n+evil\n")
}

// Attack: an index that an earlier agent wrote says of a changed file that it
// is clean, by its flags, or that a file is another blob.
func TestAttackIndexWithFlags(t *testing.T) {
	p := newProject(t)
	p.sh(`printf 'all:\n\techo first\n' > Makefile; git update-index --assume-unchanged Makefile`)
	p.run(`printf 'all:\n\tother\n' > Makefile`)
	p.want("Makefile", Changed, "-\techo first\n+\tother\n")
}

func TestAttackReplaceRefBeforeTheRun(t *testing.T) {
	p := newProject(t)
	p.sh(`b=$(git rev-parse HEAD:Makefile); e=$(printf 'all:\n\techo forge\n' | git hash-object -w --stdin); git replace $b $e`)
	p.settle()
	p.run(`printf 'all:\n\techo forge\n' > Makefile`)
	p.want("Makefile", Changed, "-\techo built\n+\techo forge\n")
}

// Attack: tricks with the files themselves.
func TestAttackTricksWithFiles(t *testing.T) {
	for name, a := range map[string]struct {
		script string
		path   string
		kind   Kind
		text   string
	}{
		"same size, times set back": {`printf 'all:\n\techo BUILT\n' > Makefile; touch -d '2001-01-01' Makefile`, "Makefile",
			Changed, "+\techo BUILT"},
		"same size, times as before": {
			`cp -p Makefile /tmp/ref-$$; printf 'all:\n\techo BUILT\n' > Makefile; touch -r /tmp/ref-$$ Makefile; rm /tmp/ref-$$`, "Makefile",
			Changed, "+\techo BUILT"},
		"another file in its place": {`printf 'all:\n\techo BUILT\n' > x; touch -r Makefile x; mv x Makefile`, "Makefile",
			Changed, "+\techo BUILT"},
		"renamed over": {`mv src/main.go src/keep.go; mv src/util.go src/main.go; mv src/keep.go src/util.go`, "src/main.go",
			Changed, "-func main() {}"},
		"a link in a file's place":   {`rm Makefile; ln -s /etc/passwd Makefile`, "Makefile", Type, "+/etc/passwd"},
		"a link in a folder's place": {`mv src real; ln -s real src`, "src", Type, "+real"},
		"a folder in a file's place": {`rm Makefile; mkdir Makefile; echo evil > Makefile/x`, "Makefile/x", Added, "+evil"},
		"written by another name": {`ln Makefile other; printf 'all:\n\techo BUILT\n' > other; rm other`, "Makefile",
			Changed, "+\techo BUILT"},
		"a second name stays":        {`ln Makefile other`, "other", Added, "+\techo built"},
		"a pipe":                     {`mkfifo pipe`, "pipe", Added, ""},
		"a pipe in a file's place":   {`rm Makefile; mkfifo Makefile`, "Makefile", Type, ""},
		"setuid":                     {`chmod 4755 Makefile`, "Makefile", Mode, ""},
		"a folder's mode":            {`chmod 777 src`, "src", Mode, ""},
		"the project's own mode":     {`chmod 777 .`, ".", Mode, ""},
		"huge and sparse":            {`truncate -s 1T huge; truncate -s 1T Makefile`, "huge", Added, "too large to show"},
		"huge and sparse, a changed": {`truncate -s 1T Makefile`, "Makefile", Changed, "too large to show"},
		"binary":                     {`printf 'a\000b' > Makefile`, "Makefile", Changed, "Binary files a/Makefile and b/Makefile differ"},
		"unreadable":                 {`echo evil > x; chmod 000 x`, "x", Added, ""},
		"a name with a line end": {`echo x > "$(printf 'a\n+evil\033[2J\342\200\256.go')"`, "a\n+evil\x1b[2J\u202e.go", Added,
			`"b/a\n+evil\033[2J\342\200\256.go"`},
		"a name that is no UTF-8": {`echo x > "$(printf 'a\377b')"`, "a\xffb", Added, `"b/a\377b"`},
		"a name like a patch": {`mkdir "$(printf 'x\n--- a')"; echo x > "$(printf 'x\n--- a/Makefile')"`, "x\n--- a/Makefile", Added,
			`"b/x\n--- a/Makefile"`},
		"an empty file":               {`: > empty`, "empty", Added, "diff --git a/empty b/empty\nnew file mode 100644\n"},
		"a folder without permission": {`mkdir closed; echo evil > closed/x; chmod 000 closed`, "closed", Added, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.run(a.script)
			if name == "a folder without permission" {
				if os.Geteuid() == 0 { // who reads everything
					a.path = "closed/x"
				} else if len(p.set.Unseen) == 0 {
					t.Error("nothing says that the folder was not read")
				}
			}
			p.want(a.path, a.kind, a.text)
			if list := p.list(); strings.ContainsAny(list, "\x1b\u202e") {
				t.Errorf("a terminal would obey the list: %q", list)
			}
		})
	}
}

// Attack: dangerous files among very many, in folders that are shown as one line.
func TestAttackHideAmongManyFiles(t *testing.T) {
	p := newProject(t)
	p.take()
	p.sh(`
mkdir -p node_modules/pkg/lib app/vendor
for d in $(seq 40); do for at in node_modules app/vendor; do mkdir $at/$d; (cd $at/$d; seq 40 | xargs touch); done; done
echo evil > node_modules/pkg/.envrc; mkdir node_modules/pkg/.vscode; echo evil > node_modules/pkg/.vscode/tasks.json
git init -q node_modules/pkg/lib/inner
echo '{}' > node_modules/pkg/package.json
echo source > app/main.go; echo node_modules > .gitignore`)
	p.compare()
	modules := p.find("node_modules")
	if !modules.Folded || modules.Files < 1500 || !strings.Contains(modules.Note, "1 file that builds and CI obey") {
		t.Errorf("node_modules is %+v", modules)
	}
	for rel, class := range map[string]obeyed.Class{"node_modules/pkg/.envrc": obeyed.Shell,
		"node_modules/pkg/.vscode/tasks.json": obeyed.Editor, "node_modules/pkg/lib/inner/.git": obeyed.Git} {
		if c := p.find(rel); c.Class != class {
			t.Errorf("%s: got class %q, want %q", rel, c.Class, class)
		}
	}
	p.want("app/main.go", Added, "+source") // beside what is folded
	if c := p.find("app/vendor"); !c.Folded {
		t.Errorf("app/vendor is %+v", c)
	}
	lines := strings.Split(strings.TrimSpace(p.list()), "\n")
	if len(lines) > 8 || !strings.Contains(lines[0], "! node_modules/pkg/lib/inner/.git") || !strings.Contains(p.list(), "node_modules/ ") {
		t.Errorf("the list:\n%s", p.list())
	}
}

// Attack: packages with a file for builds each push the project's own, which changed, away.
func TestAttackHideAmongPackages(t *testing.T) {
	p := newProject(t)
	p.sh("echo '{}' >package.json")
	p.take()
	p.sh(`
for d in $(seq 100 150); do mkdir -p node_modules/$d web/vendor/$d; echo '{}' >node_modules/$d/package.json; echo all: ` +
		`>web/vendor/$d/Makefile; done
for d in 101 102 103 104 105 106 107; do mkdir node_modules/$d/.vscode; echo evil >node_modules/$d/.vscode/tasks.json; done
echo evil >package.json; mkdir web/a; for d in 1 2 3 4 5 6 7; do mkdir web/a/$d; echo all: >web/a/$d/Makefile; done`)
	p.compare()
	list := p.list()
	for _, line := range []string{"! node_modules/101/.vscode/tasks.json ", "! node_modules/107/.vscode/tasks.json ", "! package.json ",
		"! node_modules/ ", "51 new files", "! web/vendor/ ", "! web/a/7/Makefile "} {
		if !strings.Contains(list, line) {
			t.Errorf("%q is not in\n%s", line, list)
		}
	}
	if lines := strings.Count(list, "\n"); lines > 18 {
		t.Errorf("the list has %d lines:\n%s", lines, list)
	}
}

// Attack: 100,000 files, named so that they come before what is evil.
func TestAttackFloodOfFiles(t *testing.T) {
	p := newProject(t)
	p.take()
	for i := range 100 {
		dir := filepath.Join(p.dir, "aaa", fmt.Sprint(i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for j := range 1000 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(j)), []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.sh(`echo evil >> Makefile; mkdir -p zzz/deep; echo evil > zzz/deep/.envrc; echo evil > zzz/last.go`)
	p.compare()
	if c := p.find("aaa"); !c.Folded || c.Files != 100_000 || c.Bytes != 100_000 {
		t.Errorf("the flood is %+v", c)
	}
	p.want("Makefile", Changed, "+evil")
	p.want("zzz/deep/.envrc", Added, "+evil")
	p.want("zzz/last.go", Added, "+evil")
	if p.set.Files != 100_003 || len(p.set.Changes) != 4 {
		t.Errorf("%d files in %d changes", p.set.Files, len(p.set.Changes))
	}
}

// The bounds of a walk cut new files off, never what was known, and say so.
func TestBoundsNeverHideWhatWasKnown(t *testing.T) {
	p := newProject(t)
	p.take()
	p.sh(`mkdir flood; seq 400 | (cd flood; xargs touch); seq -f f%g 400 | xargs touch
echo evil >> src/main.go; echo evil > .envrc`)
	for _, w := range []*walk{{left: 0}, {left: maxEntries, paths: maxPaths}} {
		w.ctx, w.root, w.before, w.table = context.Background(), p.before.root, p.before.tree, p.before.table
		after := w.run()
		if after.at("src/main.go") == nil || after.at("Makefile") == nil || after.at(".envrc") == nil {
			t.Error("a flood of new files pushed known or obeyed ones out")
		}
		if len(w.unseen.all()) == 0 {
			t.Error("nothing says that not everything was looked at")
		}
	}
	p.compare()
}

// Attack: folders in one another without end, and files below paths so long that their names
// take the memory and minutes.
func TestAttackDeepFolders(t *testing.T) {
	for _, c := range []struct {
		name string
		deep int
		want string
	}{{"d", maxDepth + 50, "folders deep"}, {strings.Repeat("d", 250), 60, "a path of more than"}} {
		p := newProject(t)
		p.take()
		at, err := os.OpenRoot(p.dir)
		if err != nil {
			t.Fatal(err)
		}
		for range c.deep {
			if err := at.Mkdir(c.name, 0o755); err != nil {
				t.Fatal(err)
			}
			next, err := at.OpenRoot(c.name)
			at.Close()
			if at = next; err != nil {
				t.Fatal(err)
			}
		}
		if err := at.WriteFile("f", nil, 0o644); err != nil {
			t.Fatal(err)
		}
		at.Close()
		p.compare()
		if len(p.set.Unseen) != 1 || !strings.Contains(p.set.Unseen[0], c.want) {
			t.Errorf("unseen: %q", p.set.Unseen)
		}
	}
}

// A link in a folder's place, while we look, leads nowhere.
func TestAttackFolderSwappedForALinkWhileWeLook(t *testing.T) {
	p := newProject(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.take()
	w := &walk{ctx: context.Background(), root: p.before.root, before: p.before.tree, table: p.before.table, left: 100}
	src := *p.before.tree.at("src")
	src.kids = nil
	p.sh(`mv src real; ln -s ` + outside + ` src`)
	w.read(place{node: &src, rel: "src"})
	if len(src.kids) > 0 || len(w.unseen.all()) != 1 {
		t.Errorf("the walk went behind a link: %+v, %q", src.kids, w.unseen.all())
	}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(p.dir, "swapped")); err != nil {
		t.Fatal(err)
	}
	if text, err := readFile(p.before.root, "swapped", &node{name: "swapped", what: File, size: 8}); err == nil {
		t.Errorf("read behind a link: %q", text)
	}
	p.compare()
}

// A file that changes between the walk and the reading is said to.
func TestAttackFileChangedWhileWeRead(t *testing.T) {
	p := newProject(t)
	p.take()
	p.sh(`echo first >> Makefile`)
	b := p.before
	w := &walk{ctx: context.Background(), root: b.root, before: b.tree, table: b.table, left: maxEntries}
	after := w.run()
	p.sh(`echo second >> Makefile`)
	c := &comparison{b: b, after: after, removed: map[fileID]string{}}
	c.folder(".", b.tree, after)
	set := &Set{}
	r := &reader{ctx: context.Background(), b: b, after: after, left: maxRead}
	c.changes = r.settle(c.changes)
	c.into(set)
	r.diff(set)
	p.set = set
	if c := p.find("Makefile"); !strings.Contains(c.Note, "changed while it was read") {
		t.Errorf("got %+v", c)
	}
	p.compare()
}

// The output of a filter or a line-end setting of git's is not taken for
// what the file held.
func TestConvertedFilesAreNotMistaken(t *testing.T) {
	p := newProject(t)
	p.sh(`git config core.autocrlf true; printf 'one\r\ntwo\r\n' > dos.txt; git add dos.txt; git commit -qm dos
git config filter.x.clean 'tr a-z A-Z | sed s/$/x/'; git config filter.x.smudge 'tr A-Z a-z'; echo 'conv.txt filter=x' > .gitattributes; ` +
		`printf 'plain\n' > conv.txt; git add -A; git commit -qm filter`)
	p.settle()
	p.run(`printf 'one\r\nthree\r\n' > dos.txt; printf 'PLAIN\n' > conv.txt`)
	p.want("dos.txt", Changed, "-two\r\n+three\r\n")
	p.want("conv.txt", Changed, "+PLAIN\n")
	if c := p.find("conv.txt"); !strings.Contains(c.Note, "git converts this file") {
		t.Errorf("got %+v", c)
	}
}

// A project in a folder of a repository, and one without any.
func TestProjectsWithoutARepositoryOfTheirOwn(t *testing.T) {
	outer := newProject(t)
	p := &project{t: t, dir: filepath.Join(outer.dir, "src"), keep: t.TempDir()}
	p.run(`echo '// more' >> main.go`)
	p.want("main.go", Changed, " func main() {}\n+// more\n")
	if len(p.before.kept) != 0 {
		t.Errorf("clean files were copied: %v", p.before.kept)
	}
	p = &project{t: t, dir: t.TempDir(), keep: t.TempDir()}
	p.write("a.txt", "one\n")
	p.run(`echo two >> a.txt`)
	p.want("a.txt", Changed, " one\n+two\n")
}

// Attack: F2's bare repository inside .git, and what git obeys in it.
func TestAttackHideInTheRepositorysFolder(t *testing.T) {
	p := newProject(t)
	p.run(`
git init -q --bare .git/cache/site; ln -s .git/cache/site site; echo /site >> .git/info/exclude
mkdir -p .git/modules/vendor/lib/hooks; echo evil > .git/modules/vendor/lib/config
echo evil > .git/hooks/post-checkout; git config core.fsmonitor evil
git commit -q --allow-empty -m work`)
	for _, rel := range []string{".git/cache/site/config", ".git/modules/vendor/lib/config", ".git/hooks/post-checkout",
		".git/config", ".git/info/exclude"} {
		if c := p.find(rel); c.Class != obeyed.Git {
			t.Errorf("%s: %+v", rel, c)
		}
	}
	if c := p.find(".git"); !c.Folded || c.Files < 3 || c.Class.Dangerous() {
		t.Errorf("git's own files: %+v", c)
	}
	p.find("site")
}

func TestSavedAndReadAgain(t *testing.T) {
	p := newProject(t)
	p.run(`echo evil > .envrc; echo x > "$(printf 'a\377b')"; echo more >> README.md`)
	dir := t.TempDir()
	if err := p.set.Save(dir); err != nil {
		t.Fatal(err)
	}
	back, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if back.Changes[0].Path != ".envrc" || back.Changes[0].Class != obeyed.Shell || back.Files != 3 || back.Plus != 3 {
		t.Errorf("got %+v", back)
	}
	list := p.list()
	p.set = back
	p.find("a\xffb")
	if p.list() != list {
		t.Errorf("the list was\n%sand is\n%s", list, p.list())
	}
}

// TestAttackAChangeThatHidesBehindTheUsersWord: a file is left out only while it holds just
// what the user accepted, with the rights that it had.
func TestAttackAChangeThatHidesBehindTheUsersWord(t *testing.T) {
	for name, tt := range map[string]struct {
		now  string
		mode os.FileMode
		want bool // it is listed
	}{
		"TheUsersOwn":   {"{\"network\": 1}\n", 0o644, false},
		"AnotherText":   {"{\"network\": 2}\n", 0o644, true},
		"TheUsersOwnX":  {"{\"network\": 1}\n", 0o755, true},
		"MoreThanThat":  {"{\"network\": 1}\n\n", 0o644, true},
		"AnotherFile":   {"{\"network\": 1}\n", 0o644, true},
		"NothingChange": {"{}\n", 0o644, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			file := ".devcontainer/sandbox.jsonc"
			if name == "AnotherFile" {
				file = "sandbox.jsonc"
			}
			p.write(file, "{}\n")
			p.take()
			p.write(file, tt.now)
			if err := os.Chmod(filepath.Join(p.dir, file), tt.mode); err != nil {
				t.Fatal(err)
			}
			p.before.Accept(map[string][]byte{".devcontainer/sandbox.jsonc": []byte("{\"network\": 1}\n")})
			set := p.before.Compare(t.Context())
			if listed := len(set.Changes) > 0; listed != tt.want {
				t.Errorf("listed %v: %+v", listed, set.Changes)
			}
		})
	}
}
