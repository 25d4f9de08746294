//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// whoAmI is what programs ask of the lists of users and groups.
const whoAmI = `whoami; id -un; id -gn; python3 -c 'import pwd, os; print(pwd.getpwuid(os.getuid()).pw_dir)'; echo ~agent; ` +
	`touch ~/x made && stat -c %u made`

// projectOf is a project that belongs to a user.
func projectOf(t *testing.T, uid int) (dir string) {
	t.Helper()
	dir = newProject(t, true)
	err := filepath.WalkDir(dir, func(file string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(file, uid, uid))
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheAgentIsAUserOfItsContainer(t *testing.T) {
	t.Parallel()
	testenv.Root(t)
	e := connect(t)
	for _, uid := range []int{1000, 1001, 1234} {
		tr := (&trial{options: shell(whoAmI + "; git status >/dev/null && echo git"), dir: projectOf(t, uid)}).run(t, e)
		want := fmt.Sprintf("agent\nagent\nagent\n/home/agent\n/home/agent\n%d\ngit\n", uid)
		if tr.err != nil || tr.stdout.String() != want {
			t.Errorf("uid %d: %v: %q, want %q; %s", uid, tr.err, tr.stdout.String(), want, tr.stderr.String())
		}
	}
}

// Attack: images whose lists of users are a trap.
func TestAttackListsOfUsersOfAnImage(t *testing.T) {
	t.Parallel()
	testenv.Root(t)
	e := connect(t)
	for name, step := range map[string]string{
		"huge":                `for i in $(seq 60000); do echo "u$i:x:$((i+70000)):1::/:/bin/sh"; done >>/etc/passwd`,
		"root's line forged":  `echo 'agent:x:0:0::/root:/bin/sh' >/etc/passwd; echo 'agent:x:0:' >/etc/group`,
		"the uid is taken":    `echo 'mallory:x:1000:0::/tmp/m:/bin/sh' >/etc/passwd; echo 'wheel:x:0:mallory' >/etc/group`,
		"there are none":      `rm /etc/passwd /etc/group`,
		"not readable":        `chmod 0 /etc/passwd /etc/group`,
		"a link in the image": `mv /etc/passwd /etc/passwd.real; ln -s passwd.real /etc/passwd`,
	} {
		t.Run(name, func(t *testing.T) {
			tag := "sbx-accounts-test:" + strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), "'", "")
			build := exec.CommandContext(t.Context(), "docker", "build", "-q", "--force-rm", "-t", tag, "-")
			build.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
			build.Stdin = strings.NewReader("FROM " + testImage(t, e) + "\nRUN " + step + "\n")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", tag).Run() })
			tr := (&trial{options: shell(whoAmI + "; wc -l </etc/passwd; echo x >>/etc/passwd || echo closed"),
				dir: projectOf(t, 1000), image: tag}).run(t, e)
			want := "agent\nagent\nagent\n/home/agent\n/home/agent\n1000\n3\nclosed\n"
			if tr.err != nil || tr.stdout.String() != want {
				t.Errorf("%v: %q, want %q; %s", tr.err, tr.stdout.String(), want, tr.stderr.String())
			}
		})
	}
}
