package sandbox

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/terminal"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// seesLinks looks for a link that leads nowhere in an image, which a run must see: what it
// mounts there would be made in the project.
func seesLinks(t *testing.T, e *engine.Engine) {
	t.Helper()
	enginetest.ImportImage(t, "localhost/sbx-links-test:latest", func(w io.Writer) error {
		tw := tar.NewWriter(w)
		link := &tar.Header{Typeflag: tar.TypeSymlink, Name: runplan.InitFolder[1:], Linkname: runplan.WorkspaceTarget + "/x", Mode: 0o777}
		return errors.Join(tw.WriteHeader(link), tw.Close())
	})
	files, err := e.ImageFiles(t.Context(), "localhost/sbx-links-test:latest", runplan.InitFolder, "/none")
	if err != nil || len(files) != 1 || files[runplan.InitFolder]&fs.ModeSymlink == 0 {
		t.Errorf("the image has %v, %v; want a link at %s", files, err, runplan.InitFolder)
	}
}

// The main job on Podman: the firewall stands and records, the agent works in the
// project without a capability, and cannot write what is protected.
func TestRunOnPodman(t *testing.T) {
	e := enginetest.StartPodman(t, nil)
	mainJob(t, e, 1000)
	commitJob(t, e)
	execJob(t, e)
	seesLinks(t, e)
}

// mainJob runs an agent, which must be the user uid, on an engine that has enginetest.SmallImage.
func mainJob(t *testing.T, e *engine.Engine, uid int) {
	t.Helper()
	tr := (&trial{image: enginetest.SmallImage, git: true, options: runplan.Options{
		Claude: runplan.Claude{Command: []string{"bash", "-c", `
echo work >file && cat file
cat .git/HEAD; echo evil >.git/config; echo evil >.git/new && cat .git/new
for f in .devcontainer/devcontainer.json .vscode/tasks.json /etc/passwd /run/sbx/policy.json; do
	echo evil >>$f && echo "WROTE $f"
done 2>/dev/null
(echo x >/dev/tcp/203.0.113.7/4444) 2>/dev/null && echo "REACHED an address"
grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
id -u
exit 7`}},
	}}).run(t, e)
	out := tr.stdout.String()
	if tr.err != nil || tr.result.ExitCode != 7 || !strings.HasPrefix(out, "work\n") || strings.Contains(out, "WROTE") ||
		strings.Contains(out, "REACHED") {
		t.Errorf("error %v, exit code %d:\n%s\n%s", tr.err, tr.result.ExitCode, out, tr.stderr.String())
	}
	for name, want := range map[string]string{".git/hooks/pre-commit": "#!/bin/sh\n",
		".git/config": "[core]\n\trepositoryformatversion = 0\n"} {
		if text, err := os.ReadFile(filepath.Join(tr.dir, filepath.FromSlash(name))); err != nil || string(text) != want {
			t.Errorf("%s of the host holds %q, %v", name, text, err)
		}
	}
	for _, want := range []string{"ref: refs/heads/main\nevil\n", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1",
		"Seccomp:\t2", fmt.Sprintf("\n%d\n", uid)} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
	if tr.result.Egress == nil || !slices.Contains(tr.result.Egress.DeniedHosts(), "203.0.113.7") {
		t.Errorf("the refusal is not recorded: %+v", tr.result.Egress)
	}
	file := filepath.Join(tr.dir, "file")
	if text, err := os.ReadFile(file); err != nil || string(text) != "work\n" {
		t.Errorf("the project has %q, %v", text, err)
	}
	var s unix.Stat_t
	if err := unix.Stat(file, &s); err != nil || int(s.Uid) != uid || int(s.Gid) != uid {
		t.Errorf("what the agent wrote is of %d:%d, %v; want %d", s.Uid, s.Gid, err, uid)
	}
}

// commitJob has commits made by an agent, and what it left uncommitted in one, come back
// from the project and from a clone of it, on an engine that has enginetest.SmallImage.
func commitJob(t *testing.T, e *engine.Engine) {
	t.Helper()
	for _, mode := range []workspace.Mode{workspace.Bind, workspace.Clone} {
		r := newRepository(t)
		o := runplan.Options{Folders: runplan.Folders{CommitLeft: true},
			Claude: runplan.Claude{Command: []string{"bash", "-c", "set -e; echo b >b; git add b; git commit -q -m mine; echo c >c"}}}
		o.User.Workspace.Mode = string(mode)
		tr := (&trial{image: enginetest.SmallImage, dir: r.dir, options: o}).run(t, e)
		if tr.err != nil || len(tr.result.Commits) != 1 || tr.result.Commits[0].Count != 2 {
			t.Errorf("%s: %v, exit code %d, commits %+v, said %q\n%s", mode, tr.err, tr.result.ExitCode, tr.result.Commits,
				tr.said, tr.stderr.String())
			continue
		}
		if err := gitdir.Apply(t.Context(), tr.state, tr.result.Commits[:1]); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// execJob runs a program in an agent's container that goes on, on an engine that has
// enginetest.SmallImage.
func execJob(t *testing.T, e *engine.Engine) {
	t.Helper()
	tr := &trial{image: enginetest.SmallImage, options: shell("echo ready; until test -e go; do read -t 0.1 <> <(:); done; cat seen")}
	tr.during = func(p *runplan.Plan, w *workspace.Workspace) {
		var out, problems bytes.Buffer
		code, err := Exec(t.Context(), e, p.ID, ExecOptions{Command: []string{"bash", "-c", "cat; id -u; echo x >&2; exit 9"},
			Stdin: strings.NewReader("typed\n"), Stdout: &out, Stderr: &problems})
		if want := fmt.Sprintf("typed\n%d\n", p.Place.Owner.UID); err != nil || code != 9 || out.String() != want || problems.String() != "x\n" {
			t.Errorf("exec: code %d, %v, %q, %q; want 9 and %q", code, err, out.String(), problems.String(), want)
		}
		code, err = Exec(t.Context(), e, p.ID, ExecOptions{Command: []string{"bash", "-c", "echo seen >seen"}, Stdin: strings.NewReader(""),
			Stdout: io.Discard, Stderr: io.Discard})
		if err != nil || code != 0 {
			t.Errorf("exec: code %d, %v", code, err)
		}
		// Only now may the agent end: Podman forgets the exit code of a process with its container.
		if err := os.WriteFile(filepath.Join(w.Dir, "go"), nil, 0o644); err != nil {
			t.Error(err)
		}
	}
	tr.run(t, e)
	if use := tr.result.Use; use != nil && (use.PeakPIDs == 0 || use.PeakMemory > 256<<20) {
		t.Errorf("a shell used %+v", *use)
	}
	if tr.err != nil || tr.stdout.String() != "ready\nseen\n" {
		t.Errorf("%v, %q, %s", tr.err, tr.stdout.String(), tr.stderr.String())
	}
}

// handTerminal is a person's terminal by hand: what is typed there comes from a pipe.
type handTerminal struct {
	io.Reader
	shown *notifier
	sizes chan terminal.Size
}

// Write leaves out the carriage returns of a terminal.
func (h *handTerminal) Write(p []byte) (int, error) {
	_, _ = h.shown.Write(bytes.ReplaceAll(p, []byte("\r"), nil))
	return len(p), nil
}

func (h *handTerminal) Begin()                      {}
func (h *handTerminal) End()                        {}
func (h *handTerminal) Sizes() <-chan terminal.Size { return h.sizes }

// terminalJob gives a shell in the sandbox a person's terminal, whose size it has, and the
// person leaves it.
func terminalJob(t *testing.T, e *engine.Engine) {
	t.Helper()
	typed, keyboard := io.Pipe()
	screen := &handTerminal{typed, &notifier{ready: make(chan struct{})}, make(chan terminal.Size, 1)}
	screen.sizes <- terminal.Size{Columns: 91, Rows: 17}
	tr := &trial{image: enginetest.SmallImage,
		options: runplan.Options{Claude: runplan.Claude{Terminal: true, Shell: true, Command: []string{"bash", "--norc"}}}, terminal: screen}
	go func() {
		_, _ = io.WriteString(keyboard,
			"shopt -s checkwinsize; until id >/dev/null; ((COLUMNS == 91 && LINES == 17)); do :; done; echo $((6*7)) re''ady; "+
				"read answer; exit $answer\n")
		<-screen.shown.ready
		_, _ = io.WriteString(keyboard, "7\n")
	}()
	tr.run(t, e)
	_ = keyboard.Close()
	if shown := screen.shown.String(); tr.err != nil || tr.result.ExitCode != 7 || !strings.Contains(shown, "42 ready") {
		t.Errorf("%v, exit code %d: %.2000q", tr.err, tr.result.ExitCode, shown)
	}
}

// supervised is the variable that names the folder in which TestSupervisorToKill
// runs an agent.
const supervised = "SBX_TEST_SUPERVISED"

// TestSupervisorToKill is the program that killedJob kills; on its own it does nothing. Its
// agent ignores signals and works for ever.
func TestSupervisorToKill(t *testing.T) {
	dir := os.Getenv(supervised)
	if dir == "" {
		return
	}
	e, err := engine.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	(&trial{image: enginetest.SmallImage, dir: dir, options: shell(`trap "" HUP INT TERM
exec 3<> <(:); while :; do echo x >>work; read -t 0.05 -u 3; done`)}).run(t, e)
}

// Attack: the same as TestAttackTheSupervisorIsKilled in cmd/sbx-devc, on Podman.
func TestKilledOnPodman(t *testing.T) { killedJob(t, enginetest.StartPodman(t, nil)) }

// killedJob kills the program of a run outright: its containers end, and the agent with them.
func killedJob(t *testing.T, e *engine.Engine) {
	t.Helper()
	dir := newProject(t, false)
	cmd := exec.Command(os.Args[0], "-test.run=^TestSupervisorToKill$", "-test.v")
	folder, err := os.MkdirTemp("", "") // which the program that is killed does not remove
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	cmd.Env = append(os.Environ(), supervised+"="+dir, "TMPDIR="+folder)
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	written := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "work"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	until := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				text, _ := os.ReadFile(said.Name())
				t.Fatalf("not within minutes: %s\n%s", what, text)
			}
		}
	}
	until("the agent works", func() bool { return written() > 2 })
	running := func() int {
		all, err := e.Containers(t.Context(), runplan.LabelWorkspace, dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(slices.DeleteFunc(all, func(c engine.Container) bool { return c.Ended }))
	}
	if n := running(); n != 2 {
		t.Fatalf("%d containers run, want 2", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until("the containers end", func() bool { return running() == 0 })
	before := written()
	time.Sleep(time.Second) // 20 rounds of the agent
	if after := written(); after != before {
		t.Errorf("the agent wrote on: %d bytes, then %d", before, after)
	}
}
