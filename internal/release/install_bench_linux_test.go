package release

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// stranger is a runner with the Action's folder of a release, and a server that has the program.
type stranger struct {
	b                     *testing.B
	folder, cache, server string
}

func newStranger(b *testing.B) *stranger {
	b.Helper()
	const file = "Some/claude-sandbox/releases/download/v1.2.3/sbx-devc-linux-" + runtime.GOARCH
	program, err := os.ReadFile("../../bin/sbx-devc")
	if err != nil {
		testenv.Missing(b, "bin/sbx-devc (run scripts/build)", err.Error())
	}
	s := &stranger{b: b, folder: filepath.Join(b.TempDir(), "action"), cache: b.TempDir()}
	for name, text := range map[string]string{
		"install.sh": s.text("../../scripts/install.sh"), "lib/fetch.sh": s.text("../../scripts/lib/fetch.sh"),
		"release.sums": fmt.Sprintf("%x  %s\n", sha256.Sum256(program), file),
	} {
		s.write(filepath.Join(s.folder, "scripts", name), text)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/"+file {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(program)
	}))
	b.Cleanup(server.Close)
	s.server = server.URL
	return s
}

func (s *stranger) text(name string) string {
	s.b.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		s.b.Fatal(err)
	}
	return string(text)
}

func (s *stranger) write(name, text string) {
	s.b.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o644)
	}
	if err != nil {
		s.b.Fatal(err)
	}
}

// step runs one step of the Action, and returns the outputs that it wrote.
func (s *stranger) step(program string, args []string, env ...string) (outputs string) {
	s.b.Helper()
	file := filepath.Join(s.b.TempDir(), "outputs")
	s.write(file, "")
	cmd := exec.Command(program, args...)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.folder, "SSL_CERT_FILE=" + os.Getenv("SSL_CERT_FILE"), "XDG_CACHE_HOME=" + testenv.CacheDir(),
		"GITHUB_OUTPUT=" + file, "RUNNER_TOOL_CACHE=" + s.cache, "RUNNER_TEMP=" + filepath.Dir(file), "CLAUDE_SANDBOX_MIRROR=" + s.server,
	}, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.b.Fatalf("%s: %v: %s", program, err, out)
	}
	return s.text(file)
}

// install is the Action's first step; it returns the program.
func (s *stranger) install() string {
	s.b.Helper()
	bin, _, _ := strings.Cut(strings.TrimPrefix(s.step("bash", []string{filepath.Join(s.folder, "scripts", "install.sh")}), "bin="), "\n")
	return bin
}

// forget empties the tool cache.
func (s *stranger) forget() {
	s.b.Helper()
	if err := os.RemoveAll(filepath.Join(s.cache, "claude-sandbox")); err != nil {
		s.b.Fatal(err)
	}
}

// BenchmarkActionInstall is the Action's first step: with the program in the runner's tool cache,
// downloaded from a server on this machine, and downloaded up to the agent's first words to the
// model, with the images and Claude Code that earlier jobs of the runner left.
func BenchmarkActionInstall(b *testing.B) {
	b.Run("cached", func(b *testing.B) {
		s := newStranger(b)
		s.install()
		for b.Loop() {
			s.install()
		}
	})
	b.Run("download", func(b *testing.B) {
		s := newStranger(b)
		for b.Loop() {
			s.forget()
			s.install()
		}
	})
	b.Run("to-the-agents-start", func(b *testing.B) {
		if out, err := exec.Command("docker", "version").CombinedOutput(); err != nil {
			testenv.Missing(b, "a container engine", string(out))
		}
		s := newStranger(b)
		asked := make(chan time.Time, 1) // the first time of a run
		api := &fakeapi.Server{Script: fakeapi.Script{Final: "done"}}
		model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/v1/messages") {
				select {
				case asked <- time.Now():
				default:
				}
			}
			api.ServeHTTP(w, r)
		}))
		defer model.Close()
		run := func() time.Duration {
			project := b.TempDir()
			s.write(filepath.Join(project, "README.md"), "A project.\n")
			if err := os.Chown(project, 1000, 1000); err != nil && os.Geteuid() == 0 {
				b.Fatal(err)
			}
			started := time.Now()
			outputs := s.step(s.install(), []string{"action", "run"}, "SBX_DEVC_UPSTREAM="+model.URL, "SBX_RUN_ID=gha-benchmark",
				"GITHUB_WORKSPACE="+project,
				"INPUT_PROMPT=Say something.", "INPUT_ANTHROPIC_API_KEY=sk-ant-api03-scripted-model-without-a-key")
			if !strings.Contains(outputs, "success") {
				b.Fatal(outputs)
			}
			return (<-asked).Sub(started)
		}
		run() // the images come, where they are not here
		var sum time.Duration
		for b.Loop() {
			s.forget()
			sum += run()
		}
		b.ReportMetric(sum.Seconds()/float64(b.N), "s-to-start/op")
	})
}
