package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// restartedFolder is the variable that names the folder of the engine that TestUserOfARestartedEngine
// restarts.
const restartedFolder = "SBX_TEST_RESTARTED_FOLDER"

// The engine is restarted in the middle of a run, in order and after its death. The run ends by itself
// and says that the engine is at fault; nothing of it goes on, and no work is lost.
func TestTheEngineIsRestarted(t *testing.T) {
	t.Parallel()
	testenv.Root(t)
	testenv.Program(t, "dockerd")
	script := fmt.Sprintf("ip link set lo up\nexec %q -test.run='^TestUserOfARestartedEngine$' -test.v", os.Args[0])
	cmd := exec.Command("unshare", "--net", "--mount", "--mount-proc", "--pid", "--fork", "--kill-child", "bash", "-c", script)
	cmd.Env = append(os.Environ(), restartedFolder+"="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestUserOfARestartedEngine") {
		t.Errorf("%v\n%s", err, out)
	}
}

// ownEngine is a Docker whose end is in the test's hands.
type ownEngine struct {
	dir    string
	daemon *exec.Cmd
}

func (o *ownEngine) start(t *testing.T) *engine.Engine {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(o.dir, "dockerd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	at := func(name string) string { return filepath.Join(o.dir, name) }
	o.daemon = exec.Command("dockerd", "--host", "unix://"+at("engine"), "--data-root", at("data"), "--exec-root",
		at("run"), "--pidfile", at("pid"),
		"--log-level", "error")
	o.daemon.Stdout, o.daemon.Stderr = log, log
	if err := o.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_HOST", "unix://"+at("engine"))
	return enginetest.Await(t)
}

// end ends the daemon. At SIGKILL what it started to keep its containers dies with it, and they live on.
func (o *ownEngine) end(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := o.daemon.Process.Signal(signal); err != nil {
		t.Error(err)
	}
	_ = o.daemon.Wait()
	if signal != syscall.SIGKILL {
		return
	}
	text, err := os.ReadFile(filepath.Join(o.dir, "run/containerd/containerd.pid"))
	if err != nil {
		t.Error(err)
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
		t.Errorf("%q, %v", text, err)
		return
	}
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil { // this process is the first one of its namespace
		t.Error(err)
	}
}

// TestUserOfARestartedEngine is the test that TestTheEngineIsRestarted runs in a network of its own; on
// its own it does nothing.
func TestUserOfARestartedEngine(t *testing.T) {
	dir := os.Getenv(restartedFolder)
	if dir == "" {
		return
	}
	o := &ownEngine{dir: dir}
	e := o.start(t)
	defer func() {
		o.end(t, syscall.SIGTERM)
		if t.Failed() {
			text, _ := os.ReadFile(filepath.Join(dir, "dockerd.log"))
			t.Logf("%s", text)
		}
	}()
	enginetest.ImportImage(t, enginetest.SmallImage, enginetest.PackPrograms(nil))
	restartedJob(t, e, func(signal syscall.Signal) {
		o.end(t, signal)
		time.Sleep(time.Second)
		o.start(t)
	})
}

// The service of Podman is restarted in the middle of a run. Its containers live on.
func TestPodmanIsRestarted(t *testing.T) {
	e := enginetest.StartPodman(t, nil)
	restartedJob(t, e, func(signal syscall.Signal) { enginetest.RestartPodman(t, signal) })
}

// restartedJob restarts an engine that has enginetest.SmallImage in the middle of runs.
func restartedJob(t *testing.T, e *engine.Engine, restart func(syscall.Signal)) {
	t.Helper()
	for name, signal := range map[string]syscall.Signal{"in order": syscall.SIGTERM, "after its death": syscall.SIGKILL} {
		for _, mode := range []workspace.Mode{workspace.Bind, workspace.Clone} {
			t.Run(name+"/"+string(mode), func(t *testing.T) {
				r := newRepository(t)
				options := onCopy(mode,
					`set -e; echo b >b; git add b; git commit -q -m mine; echo left >left; echo ready; exec 3<> <(:); while :; do read -t 1 -u 3; done`)
				tr := &trial{options: options, dir: r.dir, image: enginetest.SmallImage, live: t.TempDir()}
				tr.during = func(*runplan.Plan, *workspace.Workspace) { restart(signal) }
				tr.mayKeep = true // the agent's end and the engine's are a race
				tr.run(t, e)
				reasons := []error{ErrFirewall, ErrTunnel, ErrEngine}
				if tr.result.ExitCode != exitcode.Internal || !slices.ContainsFunc(reasons, func(why error) bool { return errors.Is(tr.err, why) }) {
					t.Errorf("it ends with %d: %v", tr.result.ExitCode, tr.err)
				}
				said := Reap(t.Context(), tr.live, engine.Connect, nil)
				if left, err := e.List(t.Context(), runplan.LabelRun, ""); err != nil || len(left) > 0 {
					t.Errorf("containers are left: %q, %v", left, err)
				}
				var summary struct{ Commits []gitdir.Commits }
				text, err := os.ReadFile(filepath.Join(tr.state, SummaryFile))
				if err := errors.Join(err, json.Unmarshal(text, &summary)); err != nil {
					t.Fatal(err)
				}
				if c := summary.Commits; len(c) != 1 || c[0].Count != 1 || gitdir.Apply(t.Context(), tr.state, c) != nil {
					t.Errorf("the commits are %+v; %+v; said %q, then %q", c, tr.result.Commits, tr.said, said)
				}
				tree := r.dir
				if mode == workspace.Clone {
					tree = filepath.Join(tr.state, TreeFolder)
				}
				if text, err := os.ReadFile(filepath.Join(tree, "left")); err != nil || string(text) != "left\n" {
					t.Errorf("what it had not committed: %q, %v", text, err)
				}
			})
		}
	}
}
