package action_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/testenv"
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
		if err == nil || outputs != "" || !strings.HasPrefix(log, "::error title=claude-sandbox") || !strings.Contains(log, want) {
			t.Errorf("%s: log %q, outputs %q, %v", env, log, outputs, err)
		}
	}
}
