package keys

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

const keyCanary = "sk-ant-api03-canary-0a1b2c3d4e5f6071"

// Attack: a program of the same user looks for the key in the memory and the
// environment of sbx-devc while a run waits for its prompt, and has it dump its
// core. User 1001 is the one of hosted runners.
func TestAttackTheKeyIsNotInOurOwnEnvironmentOrMemoryForOthers(t *testing.T) {
	testenv.Root(t)
	dir, err := os.MkdirTemp("/var/tmp", "sbx-devc-keys-") // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	project := filepath.Join(dir, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, project} {
		if err := os.Chown(d, 1001, 1001); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "sbx-devc")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/org/claude-sandbox/cmd/sbx-devc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	other := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1001, Gid: 1001}}
	for _, variable := range []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"} {
		t.Run(variable, func(t *testing.T) {
			cmd := exec.Command(binary, "run", "--print", project)
			cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), variable + "=" + keyCanary, "GOTRACEBACK=crash"}
			cmd.Dir, cmd.SysProcAttr = dir, other
			prompt, err := cmd.StdinPipe() // the run waits for its end
			if err != nil {
				t.Fatal(err)
			}
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill() }()
			// More than a pipe holds: when it is written, the program reads it, and
			// has hidden the key before.
			if _, err := prompt.Write([]byte(strings.Repeat("word ", 1<<20/5))); err != nil {
				t.Fatal(err)
			}
			proc := fmt.Sprintf("/proc/%d/", cmd.Process.Pid)
			environ, err := os.ReadFile(proc + "environ") // as root: what children inherit, and the kernel shows
			if err != nil || !strings.Contains(string(environ), "HOME=") {
				t.Fatalf("the test cannot see the environment: %v %q", err, environ)
			}
			if strings.Contains(string(environ), keyCanary) {
				t.Error("the key is in the environment of the running process")
			}
			for _, file := range []string{"environ", "mem", "maps", "auxv"} {
				look := exec.Command("head", "-c", "1", proc+file)
				look.SysProcAttr = other
				if out, err := look.CombinedOutput(); err == nil || !strings.Contains(string(out), "ermission denied") {
					t.Errorf("its own user can open %s: %v %q", file, err, out)
				}
			}
			if limits, err := os.ReadFile(proc + "limits"); err != nil ||
				!strings.Contains(string(limits), "Max core file size        0                    0") {
				t.Errorf("it may leave a core file: %v %s", err, limits)
			}
			for _, fd := range entries(t, proc+"fd") { // the pipe of the keys is closed
				to, _ := os.Readlink(proc + "fd/" + fd)
				if own, _ := os.Readlink("/proc/self/fd/" + fd); strings.HasPrefix(to, "pipe:") && fd > "2" && to != own {
					t.Errorf("descriptor %s is %s", fd, to)
				}
			}
			// It still has the key: with it the run goes on to what comes next.
			_ = prompt.Close()
			said, _ := io.ReadAll(bufio.NewReader(stderr))
			_ = cmd.Wait()
			if strings.Contains(string(said), "there is no key") || strings.Contains(string(said), keyCanary) {
				t.Errorf("it said: %s", said)
			}
		})
	}
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
