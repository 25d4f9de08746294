package action

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session/images"
)

// The project's dev container is taken where the workflow says so, and only its image.
func TestImageOfTheProjectsDevContainer(t *testing.T) {
	const image = "registry.example/tools:1"
	for name, c := range map[string]struct {
		input, text, wantImage, wantErr string
	}{
		"named":       {"devcontainer", `{"image":"` + image + `","remoteEnv":{"X":"1"}}`, image, ""},
		"not named":   {"", `{"image":"` + image + `"}`, "default", ""},
		"another one": {"devcontainer:1", `{"image":"` + image + `"}`, "devcontainer:1", ""},
		"none":        {"devcontainer", "", "", "the project has no dev container"},
		"unusable":    {"devcontainer", `{"image":"` + image + `","features":{"x":{}}}`, "", "does not come from a registry"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.text != "" {
				file := filepath.Join(dir, ".devcontainer", "devcontainer.json")
				if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			in := Inputs{Prompt: "x"}
			in.WorkingDirectory, in.Image = dir, c.input
			project, plan, err := planJob(Job{ID: "test", Inputs: in, Progress: io.Discard, Dir: t.TempDir()})
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("%v, want %q", err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if taken := plan.Agent.Image == image; taken != (c.wantImage == image) ||
				(c.wantImage == "devcontainer:1" && plan.Agent.Image != c.wantImage) {
				t.Errorf("the image is %s, want %s (%s)", plan.Agent.Image, c.wantImage, project.Choice.Why)
			}
			if len(plan.Network.Allow) > 0 {
				t.Errorf("hosts are open: %v", plan.Network.Allow)
			}
		})
	}
}

// Attack: a pull request's dev container, with the firewall's Feature, opens hosts and widens
// the run, where the workflow takes its image.
func TestAttackTheImageOfTheDevContainerBringsSettings(t *testing.T) {
	dir := t.TempDir()
	text := `{"image":"a:1","features":{"ghcr.io/org/claude-sandbox/firewall:0":{"allow":"evil.example.com"}}}`
	if err := os.WriteFile(filepath.Join(dir, ".devcontainer.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	in := Inputs{Prompt: "x"}
	in.WorkingDirectory, in.Image = dir, projectsImage
	_, plan, err := planJob(Job{ID: "test", Inputs: in, Progress: io.Discard, Dir: t.TempDir()})
	if err != nil || !strings.HasPrefix(plan.Agent.Image, "sbx-devc-project-") || len(plan.Network.Allow) > 0 {
		t.Errorf("%v, %v", plan, err)
	}
}

// A runner that works as root has root's checkout.
func TestAFolderOfRoots(t *testing.T) {
	testenv.Root(t)
	in := Inputs{Prompt: "x"}
	in.WorkingDirectory = t.TempDir()
	for mode, closed := range map[string]bool{"bind": true, "copy": false, "ro": false} {
		in.WorkspaceMode = mode
		_, plan, err := planJob(Job{ID: "test", Inputs: in, Progress: io.Discard, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if err := plan.Closed(); (err != nil) != closed || closed && !strings.Contains(diag.HintOf(err), "set workspace_mode: copy") {
			t.Errorf("%s: %v: %s", mode, err, diag.HintOf(err))
		}
	}
}

// What a workflow reads names its inputs, and no command or flag that it does not have.
func TestInputsAreNamedAndNotFlags(t *testing.T) {
	in := Inputs{Prompt: "x"}
	repository := t.TempDir()
	write(t, filepath.Join(repository, ".git", "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(repository, ".git", "objects", "x"), "")
	write(t, filepath.Join(repository, ".git", "refs", "x"), "")
	write(t, filepath.Join(repository, "app", "README.md"), "x")
	in.WorkingDirectory = filepath.Join(repository, "app")
	_, plan, err := planJob(Job{ID: "test", Inputs: in, Progress: io.Discard, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if told := strings.Join(plan.Warnings, "\n"); !strings.Contains(told, "leave whole_repository: false out if") ||
		strings.Contains(told, "run it on") {
		t.Errorf("%q", plan.Warnings)
	}
	const claudes = "There's an issue with the selected model (x). Run --model to pick a different model."
	result := &sandbox.Result{Agent: &agent.Result{Text: claudes}, Outcome: agent.Outcome{Conclusion: agent.APIError, Message: claudes}}
	report := reportOf(result, nil)
	for _, got := range []string{report.Outcome.Message, report.Result.Text} {
		if got != "There's an issue with the selected model (x). The input model names a different one." {
			t.Errorf("%q", got)
		}
	}
	if result.Agent.Text != claudes {
		t.Error("the run's result changed")
	}
	step := Sandboxed{Getenv: func(string) string { return "" }}
	gone := step.hinted(diag.WithHint(sandbox.ErrEngine, "'sbx-devc doctor' finds it"), nil, in)
	if hint := diag.HintOf(gone); !errors.Is(gone, sandbox.ErrEngine) || !strings.Contains(hint, "run the job again") {
		t.Errorf("%v, hint %q", gone, hint)
	}
}

// A workflow without actions/checkout has nothing to work on.
func TestAnEmptyWorkspaceIsTold(t *testing.T) {
	for _, name := range []string{"", "README.md"} {
		in := Inputs{Prompt: "x"}
		in.WorkingDirectory = t.TempDir()
		if name != "" {
			write(t, filepath.Join(in.WorkingDirectory, name), "x")
		}
		_, plan, err := planJob(Job{ID: "test", Inputs: in, Progress: io.Discard, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(strings.Join(plan.Warnings, "\n"), "actions/checkout"); told != (name == "") {
			t.Errorf("%q: %q", name, plan.Warnings)
		}
	}
}

// An entry opens a service of the job, and without its network the service is not there.
func TestAServiceWithoutItsNetworkIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		network, entry string
		private        []string
		told           bool
	}{
		"alone": {entry: "db:5432", told: true}, "https": {entry: "https://vault GET /v1/**", told: true},
		"git":              {entry: "git:forge/acme/app", told: true},
		"with the network": {entry: "db", network: "net"}, "of a private network": {entry: "db", private: []string{"db"}},
		"packages": {entry: "npm:read"}, "operations": {entry: "github:acme/app issues.comment"}, "a domain": {entry: "git:github.com/acme/app"},
		"an address": {entry: "[2001:db8::1]:443"},
	} {
		in := Inputs{Prompt: "x"}
		in.WorkingDirectory, in.EngineNetwork, in.PrivateDomains = t.TempDir(), c.network, c.private
		in.AllowedDomains = []string{"docs.example.com", c.entry}
		_, plan, err := planJob(Job{ID: "test", Inputs: in, Progress: io.Discard, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(name, err)
		}
		if told := strings.Contains(strings.Join(plan.Warnings, "\n"), "services_network"); told != c.told {
			t.Errorf("%s: %q", name, plan.Warnings)
		}
	}
}

// A fresh runner's log has what actions/cache needs; a runner with the package says nothing.
func TestTheCacheOfClaudeCodeIsTold(t *testing.T) {
	cache := t.TempDir()
	var log strings.Builder
	tellCache(&log, cache)
	folder, key, err := images.PackageFolder(cache, runtime.GOARCH)
	if err != nil || !strings.Contains(log.String(), "path "+folder+", key "+key) || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("%q, want %s and %s, %v", &log, folder, key, err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	if tellCache(&log, cache); log.Len() > 0 {
		t.Errorf("%q", &log)
	}
}
