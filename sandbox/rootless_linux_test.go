package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// rootlessUser is the user, and his group, whose engines these tests start; rootlessIDs is
// the first of the 65536 further numbers that his containers have.
const (
	rootlessUser = 12345
	rootlessIDs  = 2000000
)

// asRootlessUser runs a test of this program as that user, in namespaces in which he
// exists: nothing of this machine knows him before or after. dir is a folder of his own.
func asRootlessUser(t *testing.T, test string, dir string) {
	t.Helper()
	testenv.Root(t)
	for _, program := range []string{"newuidmap", "slirp4netns"} {
		testenv.Program(t, program)
	}
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
mkdir home runtime
chown %[2]d:%[2]d . home runtime
chmod 700 runtime
export HOME=$PWD/home XDG_RUNTIME_DIR=$PWD/runtime TMPDIR=$PWD/home USER=rootless PATH=$PATH:/usr/sbin:/sbin
unset DOCKER_HOST XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_DATA_HOME
exec setpriv --reuid %[2]d --regid %[2]d --clear-groups ./test -test.run="^%[5]s$" -test.v
`, own, rootlessUser, rootlessIDs, dir, test)
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
	e := servePodman(t, dir)
	mainJob(t, e, rootlessUser)
	commitJob(t, e)
}

// The main job on a Podman of an ordinary user: as on root's, and what the agent writes is
// that user's, although the agent is not root anywhere.
func TestRunOnRootlessPodman(t *testing.T) {
	dir := t.TempDir()
	for at := dir; at != "/"; at = filepath.Dir(at) { // he must get to it
		if info, err := os.Stat(at); err == nil && info.Mode()&0o001 == 0 {
			if err := os.Chmod(at, info.Mode().Perm()|0o011); err != nil {
				t.Fatal(err)
			}
		}
	}
	asRootlessUser(t, "TestUserOfRootlessPodman", dir)
}
