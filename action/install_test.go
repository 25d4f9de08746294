package action_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// install runs the Action's first step and returns its log and its outputs.
func install(t *testing.T, env ...string) (log, outputs string, err error) {
	t.Helper()
	bash := testenv.Program(t, "bash")
	file := filepath.Join(t.TempDir(), "output")
	cmd := exec.Command(bash, "../scripts/install.sh")
	cmd.Env = append([]string{"GITHUB_OUTPUT=" + file}, env...)
	out, err := cmd.CombinedOutput()
	written, _ := os.ReadFile(file)
	return string(out), string(written), err
}

func TestInstallTakesTheProgramThatIsNamed(t *testing.T) {
	path := "PATH=" + os.Getenv("PATH")
	ids := map[string]bool{}
	for range 2 {
		log, outputs, err := install(t, path, "CLAUDE_SANDBOX_BIN=/bin/true")
		m := regexp.MustCompile(`^bin=/bin/true\nrun_id=(gha-[0-9a-f]{16})\n$`).FindStringSubmatch(outputs)
		if err != nil || log != "" || m == nil {
			t.Fatalf("log %q, outputs %q, %v", log, outputs, err)
		}
		if ids[m[1]] {
			t.Errorf("two runs have the name %s", m[1])
		}
		ids[m[1]] = true
	}
}

func TestInstallSaysWhatIsMissing(t *testing.T) {
	// The programs that the script itself needs, and no Go.
	bin := t.TempDir()
	for _, name := range []string{"dirname", "uname", "bash", "od", "tr"} {
		if err := os.Symlink(testenv.Program(t, name), filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	for want, env := range map[string]string{"setup-go": "X=", "cannot be executed": "CLAUDE_SANDBOX_BIN=/etc/passwd"} {
		log, outputs, err := install(t, "PATH="+bin, env)
		if err == nil || !strings.HasPrefix(outputs, "conclusion=setup_error\nresult=") || strings.Contains(outputs, "bin=") ||
			!strings.HasPrefix(log, "::error title=claude-sandbox") || !strings.Contains(log, want) {
			t.Errorf("%s: log %q, outputs %q, %v", env, log, outputs, err)
		}
	}
}

// Jobs of one machine share the Action's folder: they install at the same time, and
// none of them writes there. 3 at a time, 12 of 18 failed once.
func TestParallelInstallsFromOneFolder(t *testing.T) {
	testenv.Slow(t)
	bash := testenv.Program(t, "bash")
	folder := sourceTree(t, filepath.Join(t.TempDir(), "action"))
	before := command(t, folder, "find", ".", "-type", "f", "-printf", "%p %s %T@\n")
	temps := []string{t.TempDir(), t.TempDir()}
	places := make(chan struct{}, 3)
	var all sync.WaitGroup
	for i := range 18 {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			output := filepath.Join(temps[i%2], "output-"+string(rune('a'+i)))
			cmd := exec.Command(bash, filepath.Join(folder, "scripts", "install.sh"))
			cmd.Env = append(os.Environ(), "GITHUB_OUTPUT="+output, "RUNNER_TEMP="+temps[i%2],
				"ACTION_REPOSITORY=Some/claude-sandbox", "CLAUDE_SANDBOX_BIN=")
			if log, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("install %d: %v\n%s", i, err, log)
				return
			}
			m := regexp.MustCompile(`(?m)^bin=(.*)$`).FindStringSubmatch(read(t, output))
			if m == nil {
				t.Errorf("install %d names no program", i)
			} else if out, err := exec.Command(m[1], "version").CombinedOutput(); err != nil {
				t.Errorf("install %d: %v: %s", i, err, out)
			}
		})
	}
	all.Wait()
	if after := command(t, folder, "find", ".", "-type", "f", "-printf", "%p %s %T@\n"); after != before {
		t.Error("the Action's own folder was written to")
	}
}

// actionFiles is what the Action itself consists of, and its program does not.
var actionFiles = []string{"action.yml", "apply", "comment", "setup", "scripts", ".github/workflows"}

// sourceTree copies what a checkout of this repository holds, or these folders and files of it,
// so that the Action is installed as a consumer gets it: without anything built.
func sourceTree(t *testing.T, to string, paths ...string) string {
	t.Helper()
	const root = ".."
	list := append([]string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"}, paths...)
	for name := range strings.SplitSeq(command(t, root, "git", list...), "\x00") {
		info, err := os.Lstat(filepath.Join(root, name))
		if name == "" || err != nil || !info.Mode().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, info.Mode().Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func command(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
