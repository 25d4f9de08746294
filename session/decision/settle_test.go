//go:build unix

package decision

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/session/review"
	"github.com/org/claude-sandbox/session/runs"
)

// lines are so many different ones.
func lines(n int, changed ...string) string {
	var out strings.Builder
	for i := range n {
		if j := slices.IndexFunc(changed, func(c string) bool { return strings.HasPrefix(c, fmt.Sprint(i, ":")) }); j >= 0 {
			out.WriteString(strings.SplitN(changed[j], ":", 2)[1] + "\n")
			continue
		}
		fmt.Fprintln(&out, "line", i)
	}
	return out.String()
}

// project is what the tests begin with, as a shell script makes it.
const project = `
mkdir -p src docs empty.d
printf 'old\n' >docs/removed.txt; printf 'binary\0old' >logo.bin; : >empty.txt; printf 'x\n' >mode.sh
printf 'file\n' >becomes-link; ln -s old-target link; printf 'no newline' >end.txt; printf 'f\n' >becomes-folder
`

// agentDoes is what the run does.
const agentDoes = `
rm docs/removed.txt; printf 'binary\0new' >logo.bin; echo full >empty.txt; chmod 755 mode.sh
rm becomes-link; ln -s /nonexistent/of-the-machine becomes-link; ln -sfn new-target link; printf 'changed, no newline' >end.txt
mkdir -p new/deep; echo new >new/deep/file; ln -s x new/link; rm becomes-folder; mkdir becomes-folder; echo i >becomes-folder/inner
`

// tried is a run with its review.
type tried struct {
	work   runs.Work
	keep   string
	former *os.File
	review *review.Review

	earlier Taken
}

// try runs the agent's script in a project, or in a copy of it.
func try(t *testing.T, copied bool) tried {
	t.Helper()
	return tryWith(t, copied, agentDoes)
}

func tryWith(t *testing.T, copied bool, agentDoes string) tried {
	t.Helper()
	return tryScript(t, copied, func(dir string) {
		shell(t, dir, project)
		write(t, dir, "src/many.go", lines(60))
	}, func(dir string) {
		shell(t, dir, agentDoes)
		write(t, dir, "src/many.go", lines(60, "3:first", "30:second", "55:third"))
	})
}

// tryFiles is a run that changes files.
func tryFiles(t *testing.T, copied bool, before, after map[string]string) tried {
	t.Helper()
	writeAll := func(files map[string]string) func(dir string) {
		return func(dir string) {
			for rel, text := range files {
				shell(t, dir, "mkdir -p "+filepath.Dir(rel))
				write(t, dir, rel, text)
			}
		}
	}
	return tryScript(t, copied, writeAll(before), writeAll(after))
}

// file is one of the review.
func (r tried) file(t *testing.T, rel string) *review.File {
	t.Helper()
	i := slices.IndexFunc(r.review.Files, func(f review.File) bool { return f.Path == rel })
	if i < 0 {
		t.Fatalf("%s is not in the review", rel)
	}
	return &r.review.Files[i]
}

// tryScript is a run of which the test's secret is known.
func tryScript(t *testing.T, copied bool, begin, agent func(dir string)) tried {
	t.Helper()
	base := t.TempDir()
	r := tried{keep: filepath.Join(base, "run"), work: runs.Work{Run: "run", Project: filepath.Join(base, "project")}}
	r.work.Tree = r.work.Project
	shell(t, base, "mkdir run project")
	begin(r.work.Project)
	if copied {
		r.work.Tree = filepath.Join(r.keep, "tree")
		shell(t, base, "cp -a project run/tree")
	}
	before, err := changes.Take(t.Context(), r.work.Tree, changes.Options{Keep: r.keep,
		Secrets: redact.NewFinder([]redact.Named{{Name: "KEY", Value: secretValue}})})
	if err != nil {
		t.Fatal(err)
	}
	agent(r.work.Tree)
	set := before.Compare(t.Context())
	if err := errors.Join(set.Save(r.keep), before.Close()); err != nil {
		t.Fatal(err)
	}
	patch, err := os.ReadFile(filepath.Join(r.keep, changes.PatchFile))
	if err != nil {
		t.Fatal(err)
	}
	if r.former, err = os.Open(filepath.Join(r.keep, changes.FormerFile)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.former.Close() })
	if r.review, err = review.New(review.Input{Run: "run", Set: set, Patch: patch}); err != nil {
		t.Fatal(err)
	}
	return r
}

// manyFiles is what an install leaves, with a link out, a repository and a file that
// programs obey in it.
const manyFiles = `mkdir -p node_modules/p/.git; for i in $(seq 1001); do : >node_modules/p/$i.js; done; echo x >node_modules/p/.git/config
ln -s /etc node_modules/p/out; ln -s 1.js node_modules/p/in
mkdir -p node_modules/p/d/a/b/c; ln -s ../../../../d node_modules/p/d/a/b/c/up; ln -s up/../../../../etc node_modules/p/d/a/b/c/far; ` +
	`echo evil >node_modules/p/.envrc; `

// A new folder with very many files is taken or removed whole: not over what the user
// has there, not when the user wrote into it, and without links out and repositories.
func TestAFolderWithVeryManyFiles(t *testing.T) {
	exists := func(r tried, rel string) bool {
		_, err := os.Lstat(filepath.Join(r.work.Project, rel))
		return err == nil
	}
	agentDoes := agentDoes + manyFiles
	accepts := func(r tried) func(string) bool { // all but what is dangerous in it
		return func(id string) bool {
			return slices.ContainsFunc(r.review.Files, func(f review.File) bool {
				return f.Hunks[0].ID == id && !strings.HasSuffix(f.Path, ".envrc") && !strings.HasSuffix(f.Path, ".git")
			})
		}
	}
	r := tryWith(t, true, agentDoes)
	if failed := settle(t, r, accepts(r)); len(failed) > 0 {
		t.Fatal(failed)
	}
	if !exists(r, "node_modules/p/1001.js") || !exists(r, "node_modules/p/in") || exists(r, "node_modules/p/out") ||
		!exists(r, "node_modules/p/d/a/b/c/up") || exists(r, "node_modules/p/d/a/b/c/far") || exists(r, "node_modules/p/.git") ||
		exists(r, "node_modules/p/.envrc") {
		t.Error(shell(t, r.work.Project, "ls -lA node_modules node_modules/p | grep -v js"))
	}
	r = tryWith(t, true, agentDoes)
	shell(t, r.work.Project, "mkdir -p node_modules/p; echo mine >node_modules/p/7.js")
	if failed := settle(t, r, accepts(r)); !errors.Is(failed["node_modules/p"], ErrChanged) ||
		shell(t, r.work.Project, "cat node_modules/p/7.js") != "mine\n" {
		t.Error(failed)
	}
	r = tryWith(t, false, agentDoes)
	if failed := settle(t, r, none); exists(r, "node_modules") {
		t.Error(failed)
	}
	r = tryWith(t, false, agentDoes)
	shell(t, r.work.Project, "sleep 0.02; echo mine >node_modules/p/7.js")
	if failed := settle(t, r, none); !errors.Is(failed["node_modules/p"], ErrChanged) ||
		shell(t, r.work.Project, "cat node_modules/p/7.js") != "mine\n" {
		t.Error(failed)
	}
}

func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func write(t *testing.T, dir, rel, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, rel), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// state is everything that a folder holds.
func state(t *testing.T, dir string) string {
	t.Helper()
	return shell(t, dir,
		`find . -mindepth 1 -printf '%P %y %m %l ' \( -type f -exec sha256sum {} \; -o -printf '\n' \) | sed 's/  .*//' | sort`)
}

func settle(t *testing.T, r tried, stays func(id string) bool) map[string]error {
	t.Helper()
	info, err := os.Stat(filepath.Join(r.keep, changes.SetFile))
	if err != nil {
		t.Fatal(err)
	}
	d := Decisions{Now: Taken{}, Earlier: r.earlier}
	for _, f := range r.review.Files {
		for _, h := range f.Hunks {
			d.Now[h.ID] = stays(h.ID)
		}
	}
	outcomes, err := Settle(r.work, r.former, info.ModTime().UnixNano(), r.review.Files, d, false)
	if err != nil {
		t.Fatal(err)
	}
	failed := map[string]error{}
	for _, o := range outcomes {
		if o.Err != nil {
			failed[o.Path] = o.Err
		}
	}
	return failed
}

func none(string) bool { return false }
func all(string) bool  { return true }

// A clone begins with the last commit: what the user had not committed is not called a
// change since the run.
func TestUncommittedFilesOfAClone(t *testing.T) {
	r := tryFiles(t, true, map[string]string{"a.txt": "committed\n"}, map[string]string{"a.txt": "agent's\n"})
	r.work.Cloned = true
	write(t, r.work.Project, "a.txt", "the user's\n")
	if failed := settle(t, r, all); !errors.Is(failed["a.txt"], ErrUncommitted) || errors.Is(failed["a.txt"], ErrChanged) {
		t.Error(failed)
	}
}

// A run that worked in the project: what is refused is as it was before, of every type
// of change, and a part of a file's hunks, too.
func TestRefusedIsAsItWasBefore(t *testing.T) {
	pristine := t.TempDir()
	shell(t, pristine, project)
	write(t, pristine, "src/many.go", lines(60))
	r := try(t, false)
	if failed := settle(t, r, all); len(failed) > 0 {
		t.Fatal(failed)
	}
	if failed := settle(t, r, none); len(failed) > 0 {
		t.Fatal(failed)
	}
	if got, want := state(t, r.work.Project), state(t, pristine); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if failed := settle(t, r, none); len(failed) > 0 { // all is as it was before already
		t.Errorf("a second time: %v", failed)
	}
	if got, want := state(t, r.work.Project), state(t, pristine); got != want {
		t.Errorf("a second time: got\n%s\nwant\n%s", got, want)
	}
}

// Files that root settles belong to the user, as everything in the project did: files, links
// and folders that are replaced, brought back, taken, or made on the way to one.
func TestRootLeavesFilesToTheirOwner(t *testing.T) {
	testenv.Root(t)
	for name, copied := range map[string]bool{"in place": false, "of a copy": true} {
		t.Run(name, func(t *testing.T) {
			r := tryScript(t, copied, func(dir string) {
				shell(t, dir,
					project+
						"mkdir gone; ln -s x gone/link; echo x >gone/file; mkdir apart; echo x >apart/file; chown -hR 4321:4322 .; "+
						"chown 4323:4324 apart/file")
			}, func(dir string) {
				shell(t, dir, agentDoes+manyFiles+"rm -r gone; echo y >>apart/file; chown -hR 4321:4322 .; chown 4323:4324 apart/file")
			})
			stays := none
			if copied {
				stays = func(id string) bool {
					return !slices.ContainsFunc(r.review.Files, func(f review.File) bool {
						return f.Hunks[0].ID == id && (strings.HasSuffix(f.Path, ".git") || strings.HasSuffix(f.Path, ".envrc"))
					})
				}
			}
			if failed := settle(t, r, stays); len(failed) > 0 {
				t.Fatal(failed)
			}
			if got := shell(t, r.work.Project, `find . \( ! -uid 4321 -o ! -gid 4322 \) -printf '%P %U:%G\n'`); got != "apart/file 4323:4324\n" {
				t.Error(got)
			}
		})
	}
}

// A path that has its content already is done: everything taken back after a part of it, taken
// twice, taken in two parts, and taken back by hand.
func TestAlreadySettledIsDone(t *testing.T) {
	hunks := func(r tried, stay bool, which ...int) Taken {
		taken := Taken{}
		for i, h := range r.file(t, "src/many.go").Hunks {
			if slices.Contains(which, i) {
				taken[h.ID] = stay
			}
		}
		return taken
	}
	everything := func(r tried, stay bool) Taken {
		taken := Taken{}
		for _, f := range r.review.Files {
			for _, h := range f.Hunks {
				taken[h.ID] = stay
			}
		}
		return taken
	}
	decide := func(r *tried, now Taken) {
		t.Helper()
		ended, err := os.Stat(filepath.Join(r.keep, changes.SetFile))
		if err != nil {
			t.Fatal(err)
		}
		outcomes, err := Settle(r.work, r.former, ended.ModTime().UnixNano(), r.review.Files, Decisions{Now: now, Earlier: r.earlier}, false)
		for _, o := range outcomes {
			err = errors.Join(err, o.Err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.earlier == nil {
			r.earlier = Taken{}
		}
		maps.Copy(r.earlier, now)
	}
	many := func(r tried) string { return shell(t, r.work.Project, "cat src/many.go") }

	r := tryWith(t, false, agentDoes+manyFiles)
	before := try(t, true).work.Project
	decide(&r, hunks(r, false, 1))
	decide(&r, hunks(r, true, 0))
	decide(&r, hunks(r, false, 2))
	if many(r) != lines(60, "3:first") {
		t.Error(many(r))
	}
	for range 2 { // the second has nothing to do
		decide(&r, everything(r, false))
		if got, want := state(t, r.work.Project), state(t, before); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}

	r = tryWith(t, true, agentDoes+manyFiles+"rm -r node_modules/p/.git node_modules/p/.envrc")
	decide(&r, hunks(r, true, 2))
	decide(&r, hunks(r, false, 1))
	decide(&r, hunks(r, true, 0))
	if many(r) != lines(60, "3:first", "55:third") {
		t.Error(many(r))
	}
	for range 2 {
		decide(&r, everything(r, true))
	}
	if many(r) != lines(60, "3:first", "30:second", "55:third") {
		t.Error(many(r))
	}

	r = try(t, false)
	shell(t, r.work.Project, "find . -mindepth 1 -delete; cp -a "+before+"/. .")
	decide(&r, everything(r, false))
}

// Attack on the user's work: a file of which a part was refused is edited then. No later
// decision takes the edit away.
func TestAttackAnEditBetweenTwoDecisionsIsNeverLost(t *testing.T) {
	for name, copied := range map[string]bool{"in place": false, "of a copy": true} {
		t.Run(name, func(t *testing.T) {
			r := try(t, copied)
			all := r.file(t, "src/many.go").Hunks
			r.earlier = Taken{all[1].ID: copied}
			settleOnly(t, r, Taken{all[1].ID: copied}, nil)
			shell(t, r.work.Project, "echo mine >>src/many.go")
			mine := shell(t, r.work.Project, "cat src/many.go")
			settleOnly(t, r, Taken{all[0].ID: copied, all[2].ID: copied}, ErrChanged)
			if got := shell(t, r.work.Project, "cat src/many.go"); got != mine {
				t.Error(got)
			}
		})
	}
}

func settleOnly(t *testing.T, r tried, now Taken, want error) {
	t.Helper()
	earlier := maps.Clone(r.earlier)
	maps.DeleteFunc(earlier, func(id string, _ bool) bool { _, is := now[id]; return is })
	outcomes, err := Settle(r.work, r.former, 0, r.review.Files, Decisions{Now: now, Earlier: earlier}, false)
	if err != nil || len(outcomes) != 1 || !errors.Is(outcomes[0].Err, want) {
		t.Fatal(outcomes, err)
	}
}

func TestRefusedHunksOfAFile(t *testing.T) {
	for name, copied := range map[string]bool{"in place": false, "of a copy": true} {
		t.Run(name, func(t *testing.T) {
			r := try(t, copied)
			refused := ""
			for _, f := range r.review.Files {
				if f.Path == "src/many.go" {
					if len(f.Hunks) != 3 {
						t.Fatal(f.Hunks)
					}
					refused = f.Hunks[1].ID
				}
			}
			if failed := settle(t, r, func(id string) bool { return id != refused }); len(failed) > 0 {
				t.Fatal(failed)
			}
			got, err := os.ReadFile(filepath.Join(r.work.Project, "src/many.go"))
			if want := lines(60, "3:first", "55:third"); err != nil || string(got) != want {
				t.Errorf("%v\n%s", err, got)
			}
		})
	}
}

// A run on a copy: nothing is in the project until it is accepted, and then all of it.
func TestAcceptedComesFromTheCopy(t *testing.T) {
	r := try(t, true)
	untouched := state(t, r.work.Project)
	if failed := settle(t, r, none); len(failed) > 0 || state(t, r.work.Project) != untouched {
		t.Fatal(failed)
	}
	if failed := settle(t, r, all); len(failed) > 0 {
		t.Fatal(failed)
	}
	if got, want := state(t, r.work.Project), state(t, r.work.Tree); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Attack on the user's work: whatever the user did after the run is not lost, neither
// by refusing nor by accepting, and everything else is settled.
func TestAttackALaterEditIsNeverLost(t *testing.T) {
	for name, copied := range map[string]bool{"in place": false, "of a copy": true} {
		t.Run(name, func(t *testing.T) {
			r := try(t, copied)
			edits := `echo mine >>src/many.go; echo mine >docs/removed.txt; echo mine >logo.bin; echo mine >empty.txt; ` +
				`rm -f mode.sh; echo mine >mode.sh
				rm -f becomes-link; echo mine >becomes-link; rm -f link; ln -s mine link; echo mine >end.txt; mkdir -p new/deep; ` +
				`echo mine >new/deep/file; rm -f new/link
				echo mine >new/link; rm -rf becomes-folder; mkdir becomes-folder; echo mine >becomes-folder/inner`
			shell(t, r.work.Project, edits)
			mine := state(t, r.work.Project)
			failed := settle(t, r, map[bool]func(string) bool{true: all, false: none}[copied])
			if got := state(t, r.work.Project); got != mine {
				t.Errorf("got\n%s\nwant\n%s", got, mine)
			}
			left := len(r.review.Files)
			if copied {
				left-- // becomes-folder is a folder now, as in the copy
			}
			if len(failed) != left {
				t.Errorf("%d of %d are said to be left: %v", len(failed), left, failed)
			}
		})
	}
}

// Attack: between the run and the decision something makes a folder a link that leads
// out. Nothing is written, removed or read behind it.
func TestAttackAFolderBecomesALink(t *testing.T) {
	for name, copied := range map[string]bool{"in place": false, "of a copy": true} {
		t.Run(name, func(t *testing.T) {
			r := try(t, copied)
			inside := filepath.Join(r.work.Project, "elsewhere")
			shell(t, r.work.Project, `mkdir elsewhere; cp -a src/. docs/. elsewhere; rm -rf src docs; ln -s elsewhere src; ln -s elsewhere docs`)
			before := state(t, inside)
			failed := settle(t, r, map[bool]func(string) bool{true: all, false: none}[copied])
			if state(t, inside) != before || failed["src/many.go"] == nil || failed["docs/removed.txt"] == nil {
				t.Errorf("%v\n%s", failed, state(t, inside))
			}
		})
	}
}

// Attack: a decision gives rights that the user has not given.
func TestAttackSetuidIsNotTaken(t *testing.T) {
	r := try(t, true)
	i := slices.IndexFunc(r.review.Files, func(f review.File) bool { return f.Path == "new/deep/file" })
	r.review.Files[i].Change.After.Mode = 0o6755
	if failed := settle(t, r, all); len(failed) > 0 {
		t.Fatal(failed)
	}
	info, err := os.Stat(filepath.Join(r.work.Project, "new/deep/file"))
	if err != nil || info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		t.Error(info.Mode(), err)
	}
}

// Attack: the project's folder is open to everybody on the machine. The review says so, and
// discard closes it.
func TestAttackTheProjectsFolderIsOpened(t *testing.T) {
	r := tryWith(t, false, "chmod 2777 .")
	f := r.file(t, ".")
	if !slices.ContainsFunc(f.Findings, func(f review.Finding) bool { return f.Kind == review.Mode }) {
		t.Errorf("%+v", f)
	}
	if failed := settle(t, r, none); len(failed) > 0 {
		t.Fatal(failed)
	}
	info, err := os.Stat(r.work.Project)
	if err != nil || info.Mode()&(os.ModeSetgid|0o022) != 0 {
		t.Error(info.Mode(), err)
	}
}

// Attack: a file of the copy says that it is large and takes no room. Taking it, alone or
// in a folder of very many files, fills the user's disk.
func TestAttackAFileWithHolesFillsTheDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells where holes are")
	}
	r := tryWith(t, true,
		`truncate -s 64M sparse.bin; mkdir many; for i in $(seq 1100); do echo $i >many/$i.txt; done; truncate -s 64M many/sparse.bin`)
	if failed := settle(t, r, all); len(failed) > 0 {
		t.Fatal(failed)
	}
	for _, rel := range []string{"sparse.bin", "many/sparse.bin"} {
		var stat syscall.Stat_t
		if err := syscall.Stat(filepath.Join(r.work.Project, rel), &stat); err != nil || stat.Size != 64<<20 || stat.Blocks*512 > 1<<20 {
			t.Errorf("%s takes %d bytes of the disk: %v", rel, stat.Blocks*512, err)
		}
	}
}

// A content that nobody kept is not guessed.
func TestWhatWasNotKeptIsLeft(t *testing.T) {
	r := try(t, false)
	for i := range r.review.Files {
		if r.review.Files[i].Path == "logo.bin" {
			r.review.Files[i].Change.Former = changes.Piece{}
		}
	}
	failed := settle(t, r, none)
	if !errors.Is(failed["logo.bin"], ErrNotKept) || len(failed) != 1 {
		t.Error(failed)
	}
	if got, _ := os.ReadFile(filepath.Join(r.work.Project, "logo.bin")); !bytes.Equal(got, []byte("binary\x00new")) {
		t.Errorf("%q", got)
	}
}

func TestDecisionsAreRemembered(t *testing.T) {
	dir := t.TempDir()
	if got, err := Read(dir); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
	if err := (Taken{"a": true, "b": false}).Save(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(dir); err != nil || !got["a"] || got["b"] || len(got) != 2 {
		t.Error(got, err)
	}
}

// A program was killed, and what changed after its run may be the user's: nothing of that is
// undone, whatever it is now.
func TestWhatChangedAfterTheRunStays(t *testing.T) {
	r := try(t, false)
	before := shell(t, r.work.Project, "ls -lAR; cat src/many.go end.txt")
	for i := range r.review.Files {
		r.review.Files[i].Change.Later = true
	}
	failed := settle(t, r, func(string) bool { return false })
	for _, f := range r.review.Files {
		if !errors.Is(failed[f.Path], ErrChanged) {
			t.Errorf("%s: %v", f.Path, failed[f.Path])
		}
	}
	if after := shell(t, r.work.Project, "ls -lAR; cat src/many.go end.txt"); after != before {
		t.Errorf("the project was\n%sand is\n%s", before, after)
	}
}
