//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// committing is a real run of the built program in a repository, whose agent runs
// one command.
type committing struct {
	*programRun
	project string
}

func startCommitting(t *testing.T, command string, args ...string) *committing {
	t.Helper()
	r := prepareCommitting(t, command, args...)
	r.begin(t, "commit")
	return r
}

// prepareCommitting makes the repository.
func prepareCommitting(t *testing.T, command string, args ...string) *committing {
	t.Helper()
	r := &committing{
		programRun: runProgram(t, []string{scripted(t, command), "PATH=" + filepath.Dir(builtProgram(t)) + ":" + os.Getenv("PATH")}, args...)}
	r.project = r.Dir
	r.git(t, r.project, "init", "-q", "-b", "main")
	if err := os.MkdirAll(filepath.Join(r.project, "sub", "folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	r.write(t, "sub/a.txt", "one\n")
	r.git(t, r.project, "add", ".")
	r.git(t, r.project, "commit", "-q", "-m", "one")
	if os.Geteuid() == 0 { // the agent never is root
		if out, err := exec.Command("chown", "-R", "1000:1000", r.project).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	return r
}

func (r *committing) write(t *testing.T, name, text string) {
	t.Helper()
	name = filepath.Join(r.project, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}

func (r *committing) git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	args = append([]string{"-c", "safe.directory=*", "-c", "user.name=me", "-c", "user.email=me@example.com", "-C", dir}, args...)
	out, err := exec.Command(testenv.Program(t, "git"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

// shell runs a command line as a person would type it in a folder, and returns
// its exit code and outputs.
func (r *committing) shell(t *testing.T, dir, line string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	var out, people strings.Builder
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = r.Env, dir, &out, &people
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), people.String()
}

// printed is the command that is printed for taking the commits.
var printed = regexp.MustCompile(`(?m): (sbx-devc apply ([0-9a-f-]+))$`)

const twoCommits = `git checkout -q -b work && echo two >>sub/a.txt && git commit -q -a -m two && git commit -q --allow-empty -m three`

// A run is killed outright, with everything that its agent committed in a volume.
// The next start takes the commits before the volume goes.
func TestCommitsOfAKilledRunAreKept(t *testing.T) {
	const canary = "c4nary-Killed-55aa90"
	source := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(source, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	r := startCommitting(t, `echo "$CANARY"; echo "$CANARY" >&2; echo "$CANARY" >leak.txt; git add leak.txt; `+twoCommits+
		` && rm leak.txt && touch committed; sleep 600`, "--secret", "CANARY=file:"+source)
	until(t, "the agent has committed", func() bool { return exists(filepath.Join(r.project, "committed")) })
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.Wait()
	hasNot := func(when string) { // the volumes and containers of the run, its folder, and what is said
		t.Helper()
		where := []string{filepath.Dir(r.state())}
		for _, id := range r.containers(t, "-a") {
			out, err := exec.Command("docker", "inspect", "--format", "{{json .}} {{range .Mounts}}\n{{.Source}}{{end}}", id).CombinedOutput()
			if err != nil || strings.Contains(string(out), canary) {
				t.Errorf("%s: the container has it: %v", when, err)
			}
			where = append(where, strings.Split(string(out), "\n")[1:]...)
		}
		args := append([]string{"-rlI", "-e", canary, "--exclude-dir=project"}, where...)
		if out, _ := exec.Command("grep", args...).Output(); len(out) > 0 {
			t.Errorf("%s: the secret is in %s", when, out)
		}
	}
	hasNot("killed")
	// A start that cannot keep the commits keeps the volume, and says so once.
	runs, err := filepath.Glob(filepath.Join(r.state(), "runs", "*"))
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	if err := errors.Join(os.Rename(runs[0], runs[0]+"-aside"), os.WriteFile(runs[0], nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		_, _, said := r.shell(t, r.project, "sbx-devc run --print </dev/null")
		if strings.Contains(said, "could not be taken") != (i == 0) || strings.Contains(said, "reaped") {
			t.Errorf("start %d says %s", i, said)
		}
		if left := r.containers(t, "-a"); len(left) != 1 {
			t.Errorf("%d containers are left", len(left))
		}
	}
	if err := errors.Join(os.Remove(runs[0]), os.Rename(runs[0]+"-aside", runs[0])); err != nil {
		t.Fatal(err)
	}
	// The next start fails for want of a prompt, after it has cleaned up.
	code, _, said := r.shell(t, r.project, "sbx-devc run --print </dev/null")
	found := printed.FindStringSubmatch(said)
	if code != exitNoInput || found == nil ||
		!strings.Contains(said, "did not end in order; its 2 commits are kept, not searched for the run's secrets yet") {
		t.Fatalf("the next start ends with %d and says %s", code, said)
	}
	if left := r.containers(t, "-a"); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
	hasNot("cleaned up")
	if code, _, said := r.shell(t, r.project, found[1]); code != exitRefused || !strings.Contains(said, "the value of CANARY") ||
		strings.Contains(said, "not all searched") || strings.Contains(said, canary) {
		t.Errorf("the secret in a commit: %d, %s", code, said)
	}
	if err := os.Remove(source); err != nil {
		t.Fatal(err)
	}
	if code, out, problem := r.shell(t, r.project, found[1]); code != exitOK || out != "sbx/"+found[2]+"\n" ||
		!strings.Contains(problem, "not searched for the value of CANARY") || !strings.Contains(problem, "not all searched for secrets") {
		t.Fatalf("%s ends with %d: %s%s", found[1], code, out, problem)
	}
	if log := r.git(t, r.project, "log", "--format=%s", "main..sbx/"+found[2]); log != "three\ntwo\n" {
		t.Errorf("the branch holds %q", log)
	}
	if code, _, said := r.shell(t, r.project, "sbx-devc run --print </dev/null"); code != exitNoInput || strings.Contains(said, "kept") ||
		strings.Contains(said, "reaped") {
		t.Errorf("it is said twice: %s", said)
	}
}

// The way of a person from a run to its commits, in the words that the run prints,
// and with what a person gets wrong.
func TestThePrintedApplyCommandMakesTheBranch(t *testing.T) {
	r := startCommitting(t, twoCommits)
	linked := filepath.Join(t.TempDir(), "linked")
	r.git(t, r.project, "worktree", "add", "-q", "-b", "linked", linked)
	if code := endOf(t, r.programRun); code != exitOK {
		t.Fatalf("the run ends with %d: %s", code, r.said(t))
	}
	found := printed.FindStringSubmatch(r.said(t))
	if found == nil {
		t.Fatalf("the run prints no command: %s", r.said(t))
	}
	branch := "sbx/" + found[2]
	// The review knows which call wrote a file, from the run's own transcript.
	if code, review, said := r.shell(t, r.project, "sbx-devc review --json"); code != exitOK ||
		!strings.Contains(review, `"path":"sub/a.txt"`) || !strings.Contains(review, `"tool":"Bash"`) ||
		strings.Contains(review, `"readUnknown"`) {
		t.Errorf("the review ends with %d: %s%s", code, review, said)
	}
	var head string
	for _, c := range []struct{ name, dir, line string }{
		{"as printed, in the project's folder", r.project, found[1]},
		{"again", r.project, found[1]},
		{"as printed, in a folder of the project", filepath.Join(r.project, "sub", "folder"), found[1]},
		{"as printed, in a linked worktree", linked, found[1]},
		{"as printed, elsewhere", t.TempDir(), found[1]},
		{"without a run, in the project's folder", r.project, "sbx-devc apply"},
		{"without a run, in a folder of the project", filepath.Join(r.project, "sub", "folder"), "sbx-devc apply"},
		{"the run's folder", t.TempDir(), "sbx-devc apply '" + filepath.Join(r.state(), "runs", found[2]) + "'"},
	} {
		if c.name != "again" && head != "" {
			r.git(t, r.project, "branch", "-q", "-D", branch)
		}
		code, out, said := r.shell(t, c.dir, c.line)
		if code != exitOK || out != branch+"\n" || !strings.Contains(said, " log -p HEAD.."+branch+"\n") {
			t.Fatalf("%s: it ends with %d: %s%s", c.name, code, out, said)
		}
		head = r.git(t, r.project, "rev-parse", branch)
		if log := r.git(t, r.project, "log", "--format=%s", "main.."+branch); log != "three\ntwo\n" {
			t.Errorf("%s: the branch holds %q", c.name, log)
		}
	}
	if now := r.git(t, r.project, "symbolic-ref", "HEAD"); now != "refs/heads/main\n" {
		t.Errorf("another branch is checked out: %s", now)
	}
	r.git(t, r.project, "branch", "-q", "-f", branch, "main")
	missing := strings.Repeat("0", 8) + "-000000-000000"
	for _, c := range []struct {
		dir, line string
		code      int
		says      string
	}{
		{r.project, found[1], exitFailed, "at another commit"},
		{r.project, "sbx-devc apply " + missing, exitNoInput, "there is no run "},
		{r.project, "sbx-devc apply ''", exitUsage, "argument 1 of sbx-devc apply is empty"},
		{r.project, "sbx-devc apply ../../etc", exitNoInput, "there is no run "},
		{r.project, "sbx-devc apply .", exitNoInput, "no summary"},
		{r.project, "sbx-devc apply " + found[2] + " " + found[2], exitUsage, ""},
		{r.project, "sbx-devc apply --nope", exitUsage, ""},
		{linked, "sbx-devc apply", exitNoInput, "newest run of another project is " + found[2]},
	} {
		code, out, said := r.shell(t, c.dir, c.line)
		if code != c.code || out != "" || !strings.Contains(said, c.says) || !strings.Contains(said, "sbx-devc: hint: ") {
			t.Errorf("%s: it ends with %d, not %d: %s%s", c.line, code, c.code, out, said)
		}
	}
	if now := r.git(t, r.project, "rev-parse", branch, "main"); strings.Count(now, strings.SplitAfter(now, "\n")[0]) != 2 {
		t.Errorf("a branch that was there was replaced: %s", now)
	}
}

// The commands after a run show the agent's commits and take them, as they are printed
// and with nothing typed in addition: of what it committed and of what it left.
func TestTheCommandsAfterARunWorkAsPrinted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile string // what the user does in the project before the commands
		then      string // and between them
	}{
		"nothing happened":       {"", ""},
		"a commit of the user's": {"echo u >user; git add user; git commit -qm user", "git add . && git commit -qm files; "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startCommitting(t, twoCommits+` && echo left >>sub/a.txt && echo new >new.txt && until test -e go-on; do sleep 0.1; done; rm go-on`,
				"--commit")
			for i, v := range []string{"safe.directory=*", "user.name=me", "user.email=me@example.com", "core.pager=cat", "core.editor=true"} {
				key, value, _ := strings.Cut(v, "=")
				r.Env = append(r.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key),
					fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value), "GIT_CONFIG_COUNT=5")
			}
			until(t, "the agent has worked", func() bool { return exists(filepath.Join(r.project, "new.txt")) })
			if c.meanwhile != "" {
				if code, _, problem := r.shell(t, r.project, c.meanwhile); code != 0 {
					t.Fatal(problem)
				}
			}
			before := r.git(t, r.project, "status", "--porcelain")
			if err := os.WriteFile(filepath.Join(r.project, "go-on"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if code := endOf(t, r.programRun); code != exitOK {
				t.Fatalf("the run ends with %d: %s", code, r.said(t))
			}
			if after := r.git(t, r.project, "status", "--porcelain"); after != before {
				t.Errorf("the user's status was %q and is %q", before, after)
			}
			next := printed.FindStringSubmatch(r.said(t))
			if next == nil || !strings.HasSuffix(r.said(t), next[0]+"\n") {
				t.Fatalf("the last line names no command: %s", r.said(t))
			}
			_, _, applied := r.shell(t, r.project, next[1])
			lines := regexp.MustCompile(`(?m): (git .*)$`).FindAllStringSubmatch(applied, -1)
			if len(lines) != 2 {
				t.Fatalf("%d commands in %s", len(lines), applied)
			}
			if code, out, problem := r.shell(t, r.project, lines[0][1]); code != 0 || !strings.Contains(out, "+left") ||
				!strings.Contains(out, "three") {
				t.Errorf("%s ends with %d: %s%s", lines[0][1], code, out, problem)
			}
			if c.meanwhile == "" { // pasted too late, the line takes no commit out of the branch
				if code, out, problem := r.shell(t, r.project, "git commit -q --allow-empty -m mine && "+lines[1][1]); !strings.Contains(out,
					"not done: ") {
					t.Errorf("%s ends with %d: %s%s", lines[1][1], code, out, problem)
				}
				if log := r.git(t, r.project, "log", "--format=%s"); !strings.HasPrefix(log, "mine\n") {
					t.Errorf("the user's commit is gone: %s", log)
				}
				r.git(t, r.project, "reset", "-q", "--soft", "HEAD~1")
			}
			if code, out, problem := r.shell(t, r.project, c.then+lines[1][1]); code != 0 {
				t.Fatalf("%s ends with %d: %s%s", lines[1][1], code, out, problem)
			}
			log := r.git(t, r.project, "log", "--format=%s")
			if !strings.Contains(log, "three\ntwo\n") || !strings.Contains(log, "Work tree at the end of run") || c.meanwhile != "" &&
				!strings.Contains(log, "\nuser\n") {
				t.Errorf("the branch has %s", log)
			}
			if left := r.git(t, r.project, "status", "--porcelain"); left != "" {
				t.Errorf("left over: %s", left)
			}
		})
	}
}

// A run without commits prints no command, and apply says so.
func TestApplyOfARunWithoutCommits(t *testing.T) {
	r := startCommitting(t, "echo two >>sub/a.txt")
	if code := endOf(t, r.programRun); code != exitOK {
		t.Fatalf("the run ends with %d: %s", code, r.said(t))
	}
	if said := r.said(t); strings.Contains(said, "sbx-devc apply") {
		t.Errorf("it offers commits: %s", said)
	}
	code, out, said := r.shell(t, r.project, "sbx-devc apply")
	if code != exitNoInput || out != "" || !strings.Contains(said, "made no commits in "+r.project) {
		t.Errorf("apply ends with %d: %s%s", code, out, said)
	}
}
