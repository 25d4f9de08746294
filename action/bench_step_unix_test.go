//go:build unix

package action_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/session/images"
)

// BenchmarkWarmStep is a step of a workflow on a machine that has everything: the program in the
// tool cache, the images and Claude Code. overhead-ms is all of it but for the agent's own time. A step has two containers; plain-ms is
// one "docker run --rm" of the same image by its own client, and of-two-plain the overhead in two of these.
func BenchmarkWarmStep(b *testing.B) {
	bridgeGateway(b)                            // an engine is there
	bin, err := filepath.Abs("../bin/sbx-devc") // as it is released, without its symbols
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		testenv.Missing(b, "bin/sbx-devc", "scripts/build makes it")
	}
	r := newReleased(b)
	r.program = []byte(read(b, bin))
	r.pin(b, "v1.2.3")
	server := httptest.NewServer(&fakeapi.Server{APIKey: testKey,
		Script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"echo made >made.txt"}}}, Final: "done"}})
	defer server.Close()
	spent := map[string]time.Duration{}
	timed := func(what string, do func() error) {
		began := time.Now()
		if err := do(); err != nil {
			b.Fatal(what, ": ", err)
		}
		spent[what] += time.Since(began)
	}
	step := func(id string) {
		dir := b.TempDir()
		workspace := filepath.Join(dir, "workspace")
		write(b, filepath.Join(workspace, "README.md"), "A project.\n")
		command(b, workspace, "git", "init", "-q", "-b", "main")
		command(b, workspace, "git", "add", "-A")
		command(b, workspace, "git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "start")
		if os.Geteuid() == 0 {
			command(b, dir, "chown", "-R", "1000:1000", workspace)
		}
		timed("install", func() (err error) {
			bin, _, _, err = r.install(b)
			return err
		})
		for _, name := range []string{"run", "cleanup"} {
			cmd := exec.Command(bin, "action", name)
			cmd.Env = []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), "XDG_CACHE_HOME=" + testenv.CacheDir(),
				"GITHUB_WORKSPACE=" + workspace, "GITHUB_OUTPUT=" + filepath.Join(dir, "output"), "RUNNER_TEMP=" + dir, "SBX_RUN_ID=" + id,
				"GITHUB_STEP_SUMMARY=" + filepath.Join(dir, "summary"), "SBX_DEVC_UPSTREAM=" + server.URL, "INPUT_PROMPT=x",
				"INPUT_ANTHROPIC_API_KEY=" + testKey, "RUN_OUTCOME=success", "RUN_CONCLUSION=success",
			}
			timed(name, cmd.Run)
		}
		var summary struct {
			Milliseconds map[string]time.Duration `json:"milliseconds"`
		}
		if err := json.Unmarshal([]byte(read(b, filepath.Join(dir, "claude-sandbox-"+id, "summary.json"))), &summary); err != nil {
			b.Fatal(err)
		}
		for name, ms := range summary.Milliseconds {
			spent[name] += ms * time.Millisecond
		}
	}
	step("gha-bench-first") // brings what is missing
	clear(spent)
	n := 0
	for b.Loop() {
		n++
		step("gha-bench-" + strconv.Itoa(n))
		timed("plain", exec.Command("docker", "run", "--rm", images.DefaultName(images.DefaultFiles()), "true").Run)
	}
	per := func(d time.Duration) float64 { return float64(d.Milliseconds()) / float64(n) }
	overhead := spent["install"] + spent["run"] + spent["cleanup"] - spent["agent"]
	b.ReportMetric(per(overhead), "overhead-ms")
	b.ReportMetric(per(spent["plain"]), "plain-ms")
	b.ReportMetric(float64(overhead)/float64(2*spent["plain"]), "of-two-plain")
	b.ReportMetric(per(spent["install"]), "install-ms")
	b.ReportMetric(per(spent["run"]-spent["total"]), "around-ms") // before and after the run in the sandbox
	b.ReportMetric(per(spent["startup"]), "startup-ms")
	b.ReportMetric(per(spent["total"]-spent["startup"]-spent["agent"]), "ending-ms")
	b.ReportMetric(per(spent["cleanup"]), "cleanup-ms")
	b.ReportMetric(per(spent["agent"]), "agent-ms")
}
