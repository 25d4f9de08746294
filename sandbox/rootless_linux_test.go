package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// The users, and their groups, whose engines these tests start. The number of the second
// one is of a kind that directories of companies give out: above those that containers have
// by themselves, and above rootlessIDs.
const (
	rootlessUser    = 12345
	rootlessFarUser = 1000001

	rootlessIDs = 300000 // the first of the 65536 further numbers that the containers have
)

// asRootlessUser runs a test of this program as one of these users, in namespaces in which he
// exists: nothing of this machine knows him before or after.
func asRootlessUser(t *testing.T, uid int, test string) {
	t.Helper()
	testenv.Root(t)
	for _, program := range []string{"newuidmap", "slirp4netns"} {
		testenv.Program(t, program)
	}
	dir := folderForAll(t)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`set -e
cp %[1]q test
printf 'root:x:0:0::/root:/bin/sh\nrootless:x:%[2]d:%[2]d::%[4]s/home:/bin/sh\n' >passwd
printf 'root:x:0:\nrootless:x:%[2]d:\n' >group
echo rootless:%[3]d:65536 >subids
for file in passwd group subuid subgid; do
	from=$file
	case $file in subuid|subgid) from=subids;; esac
	[ -e /etc/$file ] || touch /etc/$file
	mount --bind $from /etc/$file
done
mknod -m 666 tun c 10 200
mount --bind tun /dev/net/tun
ip link set lo up
mount --make-rshared /
mkdir home runtime
chown %[2]d:%[2]d . home runtime
chmod 700 runtime
export HOME=$PWD/home XDG_RUNTIME_DIR=$PWD/runtime TMPDIR=$PWD/home USER=rootless PATH=$PATH:/usr/sbin:/sbin
unset DOCKER_HOST XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_DATA_HOME
exec setpriv --reuid %[2]d --regid %[2]d --clear-groups ./test -test.run="^%[5]s$" -test.v
`, own, uid, rootlessIDs, dir, test)
	cmd := exec.Command("unshare", "--net", "--mount", "--mount-proc", "--pid", "--fork", "--kill-child", "bash", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), rootlessFolder+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+test) {
		t.Errorf("%v\n%s", err, out)
	}
}

// rootlessFolder is the variable that names the user's folder in a test that he runs.
const rootlessFolder = "SBX_TEST_ROOTLESS_FOLDER"

// TestUserOfRootlessPodman is the test that TestRunOnRootlessPodman runs as a user without
// rights; on its own it does nothing.
func TestUserOfRootlessPodman(t *testing.T) {
	dir := os.Getenv(rootlessFolder)
	if dir == "" {
		return
	}
	e := enginetest.ServePodman(t, dir, nil)
	mainJob(t, e, rootlessFarUser)
	commitJob(t, e)
	execJob(t, e)
	terminalJob(t, e)
	killedJob(t, e)
}

// The main job on a Podman of an ordinary user: as on root's, and what the agent writes is
// that user's, although the agent is not root anywhere.
func TestRunOnRootlessPodman(t *testing.T) {
	t.Parallel()
	asRootlessUser(t, rootlessFarUser, "TestUserOfRootlessPodman")
}

// folderForAll is a new folder that every user can get to.
func folderForAll(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for at := dir; at != "/"; at = filepath.Dir(at) { // he must get to it
		if info, err := os.Stat(at); err == nil && info.Mode()&0o001 == 0 {
			if err := os.Chmod(at, info.Mode().Perm()|0o011); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// serveRootlessDocker starts a Docker of this user that keeps everything in dir and has
// enginetest.SmallImage.
func serveRootlessDocker(t *testing.T, dir string) *engine.Engine {
	t.Helper()
	testenv.Program(t, "dockerd")
	state := os.Getenv("XDG_RUNTIME_DIR")
	address := "unix://" + state + "/docker.sock"
	said, err := os.Create(filepath.Join(dir, "dockerd.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	// The options of Docker's own dockerd-rootless.sh, and the links of --copy-up that it removes.
	daemon := exec.Command(testenv.Program(t, "rootlesskit"), "--state-dir", state+"/rootlesskit", "--net", "slirp4netns",
		"--disable-host-loopback",
		"--copy-up=/etc", "--copy-up=/run", "--propagation=rslave", "sh", "-c",
		`rm -f /run/docker /run/containerd /run/xtables.lock; exec dockerd "$@"`, "sh",
		"--host", address, "--data-root", dir+"/home/data", "--exec-root", state+"/docker", "--pidfile",
		state+"/docker.pid", "--log-level", "warn")
	daemon.Stdout, daemon.Stderr = said, said
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		_ = daemon.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(said.Name())
			t.Logf("%s", text)
		}
	})
	t.Setenv("DOCKER_HOST", address)
	e := enginetest.Await(t)
	enginetest.ImportImage(t, enginetest.SmallImage, enginetest.PackPrograms(nil))
	return e
}

// TestUserOfRootlessDocker is the test that TestRunOnRootlessDocker runs as a user without
// rights; on its own it does nothing.
func TestUserOfRootlessDocker(t *testing.T) {
	dir := os.Getenv(rootlessFolder)
	if dir == "" {
		return
	}
	e := serveRootlessDocker(t, dir)
	tr := (&trial{image: enginetest.SmallImage, options: shell("echo began")}).run(t, e)
	if !errors.Is(tr.err, runplan.ErrOwners) || ExitCode(tr.err) != 69 || tr.stdout.String() != "" ||
		!strings.Contains(diag.HintOf(tr.err), "--workspace clone") {
		t.Errorf("bind: %v, %q", tr.err, diag.HintOf(tr.err))
	}
	carriedJob(t, e, enginetest.SmallImage, workspace.Copy)
	for _, mode := range []workspace.Mode{workspace.ReadOnly, workspace.None} {
		tr := &trial{image: enginetest.SmallImage, options: shell(`
cat main.go
(echo x >main.go) 2>/dev/null && echo WROTE
(echo x >/dev/tcp/203.0.113.7/4444) 2>/dev/null && echo REACHED
grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status; id -u`)}
		tr.options.User.Workspace.Mode = string(mode)
		tr.run(t, e)
		out := tr.stdout.String()
		if tr.err != nil || strings.Contains(out, "REACHED") || !strings.Contains(out, "CapEff:\t0000000000000000") ||
			strings.HasSuffix(out, "\n0\n") ||
			strings.Contains(out, "package main\n") != (mode == workspace.ReadOnly) || strings.Contains(out, "WROTE") != (mode == workspace.None) {
			t.Errorf("%s: %v\n%s\n%s\n%q", mode, tr.err, out, tr.stderr.String(), tr.said)
		}
		if tr.result.Egress == nil || !slices.Contains(tr.result.Egress.DeniedHosts(), "203.0.113.7") {
			t.Errorf("%s: the refusal is not recorded: %+v", mode, tr.result.Egress)
		}
	}
}

// On a Docker of an ordinary user, in whose containers his files are root's, an agent can
// read and not write them: a run that would write is refused before it starts, and one on a
// clone or a copy has that in a volume.
func TestRunOnRootlessDocker(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "rootlesskit")
	asRootlessUser(t, rootlessUser, "TestUserOfRootlessDocker")
}
