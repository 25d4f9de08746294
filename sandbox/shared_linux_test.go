package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// besideOther is the variable that names the project in TestRunBesideAnotherFolder.
const besideOther = "SBX_TEST_BESIDE_OTHER"

// TestRunBesideAnotherFolder is the program of TestAttackAnotherMachinesFolder; on its own
// it does nothing.
func TestRunBesideAnotherFolder(t *testing.T) {
	dir := os.Getenv(besideOther)
	if dir == "" {
		return
	}
	mine := t.TempDir()
	if err := errors.Join(os.Chown(mine, 1000, 1000), unix.Mount(mine, dir, "", unix.MS_BIND, "")); err != nil {
		t.Fatal(err)
	}
	tr := &trial{dir: dir, adjust: (*runplan.Plan).KeepAccounts, options: shell("ls")}
	tr.options.User.Workspace.Mode = string(workspace.ReadOnly) // in which nothing is made in the project that the engine could miss
	tr.run(t, enginetest.Connect(t))
	if tr.stdout.String() != "" {
		t.Errorf("the agent sees %q", tr.stdout.String())
	}
	if !errors.Is(tr.err, runplan.ErrElsewhere) || ExitCode(tr.err) != 69 || diag.HintOf(tr.err) == "" {
		t.Errorf("%v", tr.err)
	}
}

// Attack: the engine sees another folder under the project's path, as the engine of
// another machine does behind a forwarded socket, or this machine's when sbx-devc is in a
// container. The agent does not begin there.
func TestAttackAnotherMachinesFolder(t *testing.T) {
	testenv.Root(t)
	enginetest.Connect(t)
	dir := newProject(t, false)
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", os.Args[0], "-test.run=^TestRunBesideAnotherFolder$", "-test.v")
	cmd.Env = append(os.Environ(), besideOther+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestRunBesideAnotherFolder") {
		t.Errorf("%v\n%s", err, out)
	}
}

// farEngine is the engine by ssh, as one of another machine is.
func farEngine(t *testing.T) *engine.Engine {
	t.Helper()
	local := enginetest.Connect(t)
	dir := t.TempDir()
	script := "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; shift 2\nDOCKER_HOST=" + local.Host() + " exec sh -c \"exec $*\"\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("DOCKER_HOST", "ssh://far.example")
	far, err := engine.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return far
}

// Attack: an engine whose address leads to another machine mounts its own folder.
// Nothing is created there.
func TestAttackMountsOfARemoteEngine(t *testing.T) {
	far := farEngine(t)
	for _, mode := range []workspace.Mode{workspace.Bind, workspace.ReadOnly} {
		tr := &trial{options: shell("echo evil")}
		tr.options.User.Workspace.Mode = string(mode)
		tr.run(t, far)
		if !errors.Is(tr.err, runplan.ErrElsewhere) || ExitCode(tr.err) != 69 || !strings.Contains(diag.HintOf(tr.err), "--workspace clone") {
			t.Errorf("%s: %v, %q", mode, tr.err, diag.HintOf(tr.err))
		}
		if tr.stdout.String() != "" {
			t.Errorf("%s: the agent began", mode)
		}
	}
	tr := &trial{options: shell("touch here && ls && id -u")}
	tr.options.User.Workspace.Mode = string(workspace.None)
	tr.run(t, far)
	if tr.err != nil || !strings.HasPrefix(tr.stdout.String(), "here\n") {
		t.Errorf("none: %v, %q, %s", tr.err, tr.stdout.String(), tr.stderr.String())
	}
	carriedJob(t, far, "", workspace.Clone)
}

// Attack: the agent's container has a kernel of its own, as with Kata Containers or gVisor,
// whose packets the firewall does not see. One that does not tell its kernel counts as such.
func TestAttackAKernelPastTheFirewall(t *testing.T) {
	for _, c := range []struct {
		agent, firewall string
		shared          bool
	}{{"a", "a", true}, {"a", "b", false}, {"", "b", false}, {"a", "", false}, {"", "", false}} {
		if err := (surroundings{Boot: c.agent}).checkKernel(c.firewall); (err == nil) != c.shared {
			t.Errorf("%+v: %v", c, err)
		}
	}
	e := enginetest.Connect(t)
	other := func(p *runplan.Plan) { // its first process tells of another kernel, and goes on
		p.Agent.Entrypoint = []string{"sh", "-c", `echo '{"mounts":"","boot":"another","files":{}}'; echo began`}
	}
	tr := (&trial{adjust: other, options: shell("")}).run(t, e)
	if tr.err == nil || !strings.Contains(tr.err.Error(), "a kernel of its own") {
		t.Errorf("%v", tr.err)
	}
}

func inRuntime(name string) runplan.Options {
	o := shell("echo began")
	o.OCIRuntime = name
	return o
}

// --oci-runtime reaches the engine, and a name that it does not know is refused with
// those that it knows.
func TestOCIRuntimes(t *testing.T) {
	e := enginetest.Connect(t)
	tr := (&trial{options: inRuntime("runc")}).run(t, e)
	if tr.err != nil || tr.stdout.String() != "began\n" || tr.plan.Agent.Runtime != "runc" {
		t.Errorf("%v, %q", tr.err, tr.stdout.String())
	}
	tr = (&trial{options: inRuntime("runsc")}).run(t, e)
	if !errors.Is(tr.err, runplan.ErrConfig) || !strings.Contains(diag.HintOf(tr.err), "runc") || tr.stdout.String() != "" {
		t.Errorf("%v, %q", tr.err, diag.HintOf(tr.err))
	}
}
