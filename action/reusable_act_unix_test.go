//go:build unix

package action_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/action"
	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/registrytest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// artifacts stand in for the actions that only GitHub's machines can run.
var artifacts = map[string]string{
	"upload-artifact": "inputs: {name: {required: true}, path: {required: true}, retention-days: {}}\nruns:\n  using: composite\n" +
		"  steps: [{shell: bash, env: {FROM: '${{ inputs.path }}', TO: '${{ inputs.name }}'}, run: 'mkdir -p \"$ARTIFACTS/$TO\" && cp -r " +
		"\"$FROM\" \"$ARTIFACTS/$TO/\"'}]\n",
	"download-artifact": "inputs: {name: {required: true}, path: {required: true}}\nruns:\n  using: composite\n  steps: [{shell: bash, env: " +
		"{FROM: '${{ inputs.name }}', TO: '${{ inputs.path }}'}, run: 'mkdir -p \"$TO\" && cp -r \"$ARTIFACTS/$FROM/.\" \"$TO\"'}]\n",
}

const about = `"sender":{"login":"ann"},"repository":{"full_name":"o/r","default_branch":"main"}`

// called is one call of a workflow as docs/action.md has it.
type called struct {
	name, event, payload, api string
	source, bin               string // of the Action, and of the program
	with                      string // an input that the page does not give
}

// run has act run it in the checkout of a repository of the hub's.
func (c called) run(t *testing.T, act string, hub action.Hub) (log []byte, err error) {
	t.Helper()
	dir := t.TempDir()
	call := regexp.MustCompile("(?s)```yaml\n(on:[^`]*/" + c.name + "\\.yml@v1[^`]*)```").FindStringSubmatch(read(t, "../docs/action.md"))
	if call == nil {
		t.Fatal("docs/action.md does not call it")
	}
	text := strings.ReplaceAll(call[1], "node:22\n", "node:22-bookworm-slim\n")
	if c.with != "" {
		text += "    with: {" + c.with + "}\n"
	}
	event, workflow := filepath.Join(dir, "event.json"), filepath.Join(hub.Checkout, ".github", "workflows", "t.yml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(workflow), 0o755), os.WriteFile(workflow, []byte(text), 0o644),
		os.WriteFile(event, []byte(c.payload), 0o644)); err != nil {
		t.Fatal(err)
	}
	args := []string{
		c.event, "-W", workflow, "--eventpath", event, "-P", "ubuntu-24.04=-self-hosted", "--concurrent-jobs", "1", "--actor", "ann",
		"--action-cache-path", filepath.Join(dir, "cache"), "--action-offline-mode", "--local-repository", "org/claude-sandbox@v1=" + c.source,
		"-s", "ANTHROPIC_API_KEY=" + testKey, "-s", "GITHUB_TOKEN=" + hub.Token, "--env", "CLAUDE_SANDBOX_BIN=" + c.bin, "--env",
		"PATH=" + os.Getenv("PATH"),
		"--env", "SBX_DEVC_UPSTREAM=" + c.api, "--env", "XDG_CACHE_HOME=" + testenv.CacheDir(), "--env",
		"ARTIFACTS=" + filepath.Join(dir, "artifacts"),
		"--env", "GITHUB_API_URL=" + hub.URL + "/api", "--env", "GITHUB_SERVER_URL=" + hub.URL,
	}
	for _, m := range regexp.MustCompile(`uses: actions/(\S+-artifact)@(\S+)`).
		FindAllStringSubmatch(read(t, "../.github/workflows/"+c.name+".yml"), -1) {
		folder := filepath.Join(dir, m[1])
		if err := errors.Join(os.MkdirAll(folder, 0o755),
			os.WriteFile(filepath.Join(folder, "action.yml"), []byte("name: stand-in\n"+artifacts[m[1]]), 0o644)); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--local-repository", "actions/"+m[1]+"@"+m[2]+"="+folder)
	}
	cmd := exec.CommandContext(t.Context(), act, args...)
	cmd.Dir = hub.Checkout
	return cmd.CombinedOutput()
}

// The workflows to call do their work as docs/action.md calls them, from another repository:
// what the agent has made is at GitHub, by a job of its own.
func TestReusableWorkflowsUnderAct(t *testing.T) {
	act := testenv.Program(t, "act")
	bin, err := program()
	if err != nil {
		t.Fatal("building sbx-devc: ", err)
	}
	bridgeGateway(t) // an engine is there
	source := sourceTree(t, filepath.Join(t.TempDir(), "action"), actionFiles...)
	for name, c := range map[string]struct {
		event, payload string
		turn           fakeapi.Turn
		want           []string
		file           string // in the commit of the branch, with its text
	}{
		"fix-issue": {
			event: "issues",
			payload: `{"action":"labeled","label":{"name":"claude"},"issue":{"number":3,"title":"Two is wrong","body":"It is ` +
				`2.","labels":[{"name":"claude"}]},` + about + `}`,
			turn: fakeapi.Turn{Bash: []string{"node --version && sed -i s/two/2/ a.txt"}},
			want: []string{`pull request "Fix #3: Two is wrong" from claude-sandbox/1-1 to main, draft false`}, file: "a.txt=one\n2\n",
		},
		"update-dependencies": {
			event: "schedule", payload: `{` + about + `}`, turn: fakeapi.Turn{Bash: []string{`echo '{"private":true}' >package.json`}},
			want: []string{`pull request "Update dependencies" from claude-sandbox/1-1 to main, draft true`},
			file: "package.json={\"private\":true}\n",
		},
		"review": {
			event: "pull_request",
			payload: `{"number":5,"pull_request":{"number":5,"title":"t","body":"b","base":{"ref":"main",` +
				`"sha":"0123456789012345678901234567890123456789"},"head":{"ref":"x","repo":{"full_name":"o/r"}}},` + about + `}`,
			turn: fakeapi.Turn{
				Calls: []fakeapi.Call{
					{Name: "StructuredOutput",
						Input: map[string]any{"summary": "Adds b.", "comments": []any{map[string]any{"path": "a.go", "line": 2, "body": "wrong"}}}}}},
			want: []string{"comment at a.go:2: wrong", "Adds b."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := httptest.NewServer(&fakeapi.Server{APIKey: testKey, Script: fakeapi.Script{Turns: []fakeapi.Turn{c.turn}, Final: "done"}})
			defer api.Close()
			hub := action.NewHub(t)
			log, err := called{name: name, event: c.event, payload: c.payload, api: api.URL, source: source, bin: bin}.run(t, act, hub)
			told := strings.Join(hub.Told(), "\n")
			if err != nil || !slices.ContainsFunc(c.want, func(want string) bool { return strings.Contains(told, want) }) {
				t.Fatalf("%v, GitHub was told %q, want %q\n%s", err, told, c.want, log)
			}
			for _, want := range c.want {
				if !strings.Contains(told, want) {
					t.Errorf("GitHub was told\n%s\nwant %s", told, want)
				}
			}
			if file, content, ok := strings.Cut(c.file, "="); ok {
				if got := hub.Git("show", "claude-sandbox/1-1:"+file); got != content {
					t.Errorf("%s: %q", file, got)
				}
			}
		})
	}
}

// The image of the dev container is in the registry, under the commit's name and as the latest, also
// when somebody runs the job again.
func TestThePrebuiltImageUnderAct(t *testing.T) {
	act := testenv.Program(t, "act")
	bin, err := program()
	if err != nil {
		t.Fatal("building sbx-devc: ", err)
	}
	bridgeGateway(t) // an engine is there
	hub := action.NewHub(t)
	file := filepath.Join(hub.Checkout, ".devcontainer", "devcontainer.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
		os.WriteFile(file, []byte(`{"build":{"dockerfile":"Dockerfile"}}`), 0o644)); err != nil {
		t.Fatal(err)
	}
	image := strings.Replace(registrytest.Start(t), "127.0.0.1", "localhost", 1) + "/o/R-devcontainer"
	c := called{
		name: "prebuild", event: "push", payload: `{"ref":"refs/heads/main",` + about + `}`,
		source: sourceTree(t, filepath.Join(t.TempDir(), "action"), actionFiles...), bin: bin,
		with: "image: " + image,
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", "sbx-prebuild").Run() })
	sha := strings.TrimSpace(command(t, hub.Checkout, "git", "rev-parse", "HEAD"))
	for i := range 2 {
		made := fmt.Sprintf("FROM debian:bookworm-slim\nRUN echo %d >/made\n", i) // as on another machine, at another time
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), "Dockerfile"), []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
		log, err := c.run(t, act, hub)
		if err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		for _, tag := range []string{"latest", "sha-" + sha} {
			out, err := exec.Command(bin, "image", "inspect", strings.ToLower(image)+":"+tag).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "linux/") {
				t.Errorf("%s: %v: %s", tag, err, out)
			}
		}
	}
}
