package action_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/session/volumes"
)

const testKey = "sk-ant-api03-not-a-real-key-0123456789"

// programDir is where program builds; TestMain makes and removes it.
var programDir string

// program builds sbx-devc once for all tests of this package.
var program = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(programDir, "sbx-devc")
	return bin, exec.Command("go", "build", "-buildvcs=false", "-o", bin, "../cmd/sbx-devc").Run()
})

func TestMain(m *testing.M) {
	var err error
	if programDir, err = os.MkdirTemp("", "sbx-action-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := removeVolumes(runnersCache()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	_ = os.RemoveAll(programDir)
	os.Exit(code)
}

// runnersCache is the cache folder of the runner's user, who may not write to this
// user's. It goes with programDir.
func runnersCache() string { return filepath.Join(programDir, "cache") }

// removeVolumes removes the engine's volumes that belong to a cache folder.
func removeVolumes(cache string) error {
	cache = filepath.Join(cache, "sbx-devc")
	if _, err := os.Stat(cache); err != nil {
		return nil // no test made one
	}
	ctx := context.Background()
	e, err := engine.Connect(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	store := volumes.Store{Engine: e, Dir: cache}
	var errs []error
	for _, kind := range []string{volumes.Claude, volumes.Init, volumes.Cache} {
		kept, err := store.List(ctx, kind)
		errs = append(errs, err)
		for _, k := range kept {
			errs = append(errs, store.Remove(ctx, k))
		}
	}
	return errors.Join(errs...)
}

// stepRun is one `action run` as action.yml starts it, without act: the tests
// below need its signals and its exit code.
type stepRun struct {
	t        *testing.T
	bin      string
	env      []string
	dir      string
	id       string
	cmd      *exec.Cmd
	log      bytes.Buffer
	requests func() []fakeapi.Request
	upstream string // address of the model API
}

func startStep(t *testing.T, api *fakeapi.Server, inputs ...string) *stepRun {
	t.Helper()
	return startStepBy(t, nil, api, inputs...)
}

// startStepBy is startStep with a program before it.
func startStepBy(t *testing.T, before []string, api *fakeapi.Server, inputs ...string) *stepRun {
	t.Helper()
	testenv.Slow(t)
	t.Parallel()
	bridgeGateway(t) // an engine is there
	bin, err := program()
	if err != nil {
		t.Fatal("building sbx-devc: ", err)
	}
	api.APIKey = testKey
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	s := &stepRun{t: t, bin: bin, dir: t.TempDir(), requests: api.Requests, upstream: server.URL}
	s.id = "gha-" + strings.ToLower(regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(t.Name(), "-"))
	workspace := filepath.Join(s.dir, "workspace")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // as the runner's user would own it
		if err := os.Chown(workspace, 1000, 1000); err != nil {
			t.Fatal(err)
		}
	}
	s.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"),
		"XDG_CACHE_HOME=" + testenv.CacheDir(),
		"GITHUB_WORKSPACE=" + workspace, "GITHUB_OUTPUT=" + filepath.Join(s.dir, "output"),
		"GITHUB_STEP_SUMMARY=" + filepath.Join(s.dir, "summary"), "RUNNER_TEMP=" + filepath.Join(s.dir, "temp"),
		"SBX_RUN_ID=" + s.id, "SBX_DEVC_UPSTREAM=" + server.URL,
		"INPUT_PROMPT=Look around.", "INPUT_ANTHROPIC_API_KEY=" + testKey,
	}, inputs...)
	args := append(slices.Clone(before), bin, "action", "run")
	s.cmd = exec.Command(args[0], args[1:]...)
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.env, &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cleanup()
	})
	return s
}

// cleanup is the Action's last step.
func (s *stepRun) cleanup() error {
	cmd := exec.Command(s.bin, "action", "cleanup")
	cmd.Env = s.env
	return cmd.Run()
}

// wait returns the exit code.
func (s *stepRun) wait() int {
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// untilAsked waits for the agent's first request to the model API.
func (s *stepRun) untilAsked() {
	s.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); len(s.requests()) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("the agent never asked the model API:\n%s", s.log.String())
		}
	}
}

func (s *stepRun) file(name string) string {
	text, _ := os.ReadFile(filepath.Join(s.dir, name))
	return string(text)
}

// containers lists what is left of the run on the engine.
func (s *stepRun) containers() string {
	out, err := exec.Command("docker", "ps", "-aq", "--filter", "label=sbx-devc.run="+s.id).CombinedOutput()
	if err != nil {
		s.t.Fatal(err)
	}
	return string(out)
}

func (s *stepRun) wantConclusion(exit int, conclusion string) {
	s.t.Helper()
	if got := s.wait(); got != exit {
		s.t.Errorf("exit code %d, want %d", got, exit)
	}
	if !regexp.MustCompile(`(?m)^conclusion<<(\S+)\n` + conclusion + `\n`).MatchString(s.file("output")) {
		s.t.Errorf("want the conclusion %s in the outputs:\n%s\n%s", conclusion, s.file("output"), s.log.String())
	}
	if !strings.HasPrefix(s.file("summary"), "### Claude in the sandbox: "+conclusion+"\n") {
		s.t.Errorf("summary:\n%s", s.file("summary"))
	}
	if left := s.containers(); left != "" {
		s.t.Errorf("containers are left: %s", left)
	}
}

// Claude Code does not take bash for Bash, and says nothing of it.
func TestAToolInOtherLettersIsTold(t *testing.T) {
	api := &fakeapi.Server{Script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"echo hi > made"}}}, Final: "done"}}
	s := startStep(t, api, "INPUT_ALLOWED_TOOLS=bash(*),Nothing,mcp__db__*,Read")
	s.wantConclusion(0, "success")
	const want = "::warning title=claude-sandbox warning::allowed_tools has bash, and Claude Code's tool is Bash: the rule allows nothing"
	if log := s.log.String(); strings.Count(log, "allowed_tools has ") != 1 || !strings.Contains(log, want) {
		t.Errorf("no %q in the log, or more:\n%s", want, log)
	}
	if !strings.Contains(s.file("summary"), "Bash: echo hi > made — failed") {
		t.Errorf("Claude Code used the tool:\n%s", s.file("summary"))
	}
}

func TestRefusedKeyEndsTheRunAtOnce(t *testing.T) {
	s := startStep(t, &fakeapi.Server{Always: &fakeapi.Fault{Status: 401}})
	s.wantConclusion(1, "auth_error")
	if n := len(s.requests()); n > 3 {
		t.Errorf("the API was asked %d times although it refuses the key", n)
	}
}

// Claude Code gives a 529 up after three tries, within seconds.
func TestAnOverloadedModelAPIFailsNoStep(t *testing.T) {
	overloaded := fakeapi.Fault{Status: 529, Retry: "0.2"}
	s := startStep(t, &fakeapi.Server{Faults: []fakeapi.Fault{overloaded, overloaded, overloaded, overloaded, overloaded}})
	s.wantConclusion(0, "success")
	if !strings.Contains(s.log.String(), "answers 529") {
		t.Errorf("the log does not say what the step waited for:\n%s", s.log.String())
	}
	if len(s.requests()) < 6 {
		t.Errorf("%d requests", len(s.requests()))
	}
}

func TestAnAPIThatIsOverloadedForTooLongFailsTheStep(t *testing.T) {
	s := startStep(t, &fakeapi.Server{Always: &fakeapi.Fault{Status: 529, Retry: "60"}}, "INPUT_RETRY_MINUTES=0.5")
	s.wantConclusion(1, "api_error")
	if n := len(s.requests()); n > 3 {
		t.Errorf("the API was asked %d times, and said that a minute has to pass", n)
	}
	// Claude knows it by an address in the sandbox.
	for name, text := range map[string]string{"log": s.log.String(), "output": s.file("output"), "summary": s.file("summary")} {
		if strings.Contains(text, "inference gateway") || !strings.Contains(text, "the model API, "+strings.TrimPrefix(s.upstream, "http://")) {
			t.Errorf("the %s does not name the API:\n%s", name, text)
		}
	}
}

// The API goes in the middle of the work, for longer than the step waits: a later step goes
// on with what was done.
func TestARunThatTheAPIEndedIsResumed(t *testing.T) {
	api := &fakeapi.Server{Always: &fakeapi.Fault{Status: 529, Retry: "60"}, Script: fakeapi.Script{
		Turns: []fakeapi.Turn{{Bash: []string{"echo half of it >half.txt; echo half of the work is done"}}}}}
	api.Faults = []fakeapi.Fault{{}}
	s := startStep(t, api, "INPUT_RETRY_MINUTES=0.5")
	s.wantConclusion(1, "api_error")
	workspace := filepath.Join(s.dir, "workspace")
	if text, err := os.ReadFile(filepath.Join(workspace, "half.txt")); err != nil || string(text) != "half of it\n" {
		t.Fatalf("there was no progress: %v\n%s", err, s.log.String())
	}
	t.Run("goes on", func(t *testing.T) {
		reported := filepath.Join(s.dir, "temp", "claude-sandbox-"+s.id)
		again := fakeapi.Script{Final: "the other half is done, too"}
		// Once the answer breaks off, which Claude Code asks for anew.
		next := startStep(t, &fakeapi.Server{Script: again, Faults: []fakeapi.Fault{{Truncate: true}}}, "GITHUB_WORKSPACE="+workspace,
			"INPUT_PROMPT=Go on.", "INPUT_RESUME="+reported)
		next.wantConclusion(0, "success")
		if first := next.requests()[0].Body; !strings.Contains(first, "half of the work is done") || !strings.Contains(first, "Look around.") ||
			!strings.Contains(first, "Go on.") {
			t.Errorf("the conversation does not go on: %s", first)
		}
		if !strings.Contains(next.file("output"), "the other half is done, too") || len(next.requests()) < 2 {
			t.Errorf("outputs: %s", next.file("output"))
		}
	})
}

// The API never answered, and its name is in the log: nothing that waiting heals.
func TestAnAPIThatCannotBeReachedFailsTheStep(t *testing.T) {
	s := startStep(t, &fakeapi.Server{}, "SBX_DEVC_UPSTREAM=https://gateway.invalid")
	s.wantConclusion(1, "api_error")
	if !strings.Contains(s.file("output"), "gateway.invalid") {
		t.Errorf("%s\n%s", s.file("output"), s.log.String())
	}
	if log := s.log.String(); !strings.Contains(log, "anthropic_base_url") || strings.Contains(log, "SBX_DEVC_UPSTREAM") {
		t.Errorf("the hint is for another program's users:\n%s", log)
	}
}

func TestANetworkOfServicesThatIsNotThere(t *testing.T) {
	s := startStep(t, &fakeapi.Server{}, "INPUT_SERVICES_NETWORK=sbx-nowhere")
	s.wantConclusion(1, "config_error")
	if !strings.Contains(s.file("summary"), "the engine has no network \"sbx-nowhere\"\n  for the job's services give") {
		t.Errorf("summary:\n%s", s.file("summary"))
	}
}

func TestAgentThatHangsRunsIntoItsTimeLimit(t *testing.T) {
	s := startStep(t, &fakeapi.Server{Always: &fakeapi.Fault{Hang: true}}, "INPUT_TIMEOUT_MINUTES=0.05")
	s.wantConclusion(1, "timeout")
}

func TestTurnsEndAtTheirLimit(t *testing.T) {
	loop := fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"true"}}, {Bash: []string{"true"}}, {Bash: []string{"true"}}}}
	s := startStep(t, &fakeapi.Server{Script: loop}, "INPUT_MAX_TURNS=2")
	s.wantConclusion(1, "max_turns")
}

// The first run answers in JSON. The second goes on with its conversation, with fewer tools
// and with a server of MCP, from the folder that it reported.
func TestAnAnswerInJSONAndARunThatGoesOnWithIt(t *testing.T) {
	schema := `{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`
	answer := fakeapi.Turn{Calls: []fakeapi.Call{{Name: "StructuredOutput", Input: map[string]any{"n": 3}}}}
	s := startStep(t,
		&fakeapi.Server{Script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"echo in $GITHUB_REPOSITORY $CI of $A"}}, answer}}},
		"INPUT_JSON_SCHEMA="+schema, "CI=true", "GITHUB_REPOSITORY=o/r", "INPUT_ENV=A=b")
	s.wantConclusion(0, "success")
	if !strings.Contains(s.file("output"), "\n{\"n\":3}\n") {
		t.Errorf("outputs:\n%s", s.file("output"))
	}
	reported, err := filepath.Glob(filepath.Join(s.dir, "temp", "*"))
	if err != nil || len(reported) != 1 {
		t.Fatal(reported, err)
	}
	if text, err := os.ReadFile(filepath.Join(reported[0], "transcript.jsonl")); err != nil ||
		!strings.Contains(string(text), "in o/r true of b") {
		t.Errorf("%v: %s", err, text)
	}
	t.Run("goes on", func(t *testing.T) {
		turns := []fakeapi.Turn{{Bash: []string{"touch made.txt"}}}
		var before atomic.Int64 // results of tools in the conversation so far
		before.Store(-1)
		next := startStep(t, &fakeapi.Server{Reply: func(q fakeapi.Request) *fakeapi.Reply {
			before.CompareAndSwap(-1, int64(q.ToolResults))
			q.ToolResults -= int(before.Load())
			reply := fakeapi.Script{Turns: turns}.Reply(q)
			for i := range reply.Content { // Claude takes calls with the same id for one
				reply.Content[i].ID = strings.Replace(reply.Content[i].ID, "scripted", "again", 1)
			}
			return reply
		}}, "INPUT_RESUME="+reported[0], "INPUT_ALLOWED_TOOLS=Read", `INPUT_MCP_CONFIG={"mcpServers":{"gone":{"command":"/nowhere"}}}`)
		next.wantConclusion(0, "success")
		if first := next.requests()[0].Body; !strings.Contains(first, "in o/r true of b") || strings.Count(first, "Look around.") != 2 {
			t.Errorf("the conversation does not go on: %s", first)
		}
		if _, err := os.Stat(filepath.Join(next.dir, "workspace", "made.txt")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a command ran, and Read alone was allowed: %v", err)
		}
		if !strings.Contains(next.file("summary"), "gone") {
			t.Errorf("the summary does not say that the server did not start:\n%s", next.file("summary"))
		}
	})
}

// The API gives the job tokens for its identity, each for a moment. The runner masks them,
// and they are in no file.
func TestAJobWithoutAKey(t *testing.T) {
	var minted atomic.Int64
	token := func(n int64) string { return fmt.Sprintf("sk-ant-oat01-minted-for-the-job-%d", n) }
	api := &fakeapi.Server{Script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"env; cat /proc/*/environ"}}}}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /identity", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"value":"signed-identity-of-the-job"}`) })
	mux.HandleFunc("POST /v1/oauth/token", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"access_token":%q,"expires_in":0.01}`, token(minted.Add(1)))
	})
	var without atomic.Int64
	mux.HandleFunc("/v1/messages", func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "+strings.TrimSuffix(token(0), "0")) || r.Header.Get("X-Api-Key") != "" {
			without.Add(1)
		}
		api.ServeHTTP(w, r)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	s := startStep(t, &fakeapi.Server{}, "INPUT_ANTHROPIC_API_KEY=", "SBX_DEVC_UPSTREAM="+server.URL,
		"INPUT_ANTHROPIC_FEDERATION_RULE_ID=fdrl_1",
		"INPUT_ANTHROPIC_ORGANIZATION_ID=o", "ACTIONS_ID_TOKEN_REQUEST_URL="+server.URL+"/identity",
		"ACTIONS_ID_TOKEN_REQUEST_TOKEN=token-of-the-job")
	s.wantConclusion(0, "success")
	if minted.Load() < 2 || without.Load() > 0 {
		t.Errorf("%d tokens were made, and %d requests came without one", minted.Load(), without.Load())
	}
	log := s.log.String()
	for _, secret := range []string{token(1), "signed-identity-of-the-job"} {
		if !strings.Contains(log, "\n::add-mask::"+secret+"\n") {
			t.Errorf("%s is not masked", secret)
		}
	}
	for _, secret := range []string{token(1), "signed-identity-of-the-job", "token-of-the-job"} {
		left := command(t, s.dir, "sh", "-c", "grep -rlF '"+secret+"' . || true")
		if left != "" || strings.Count(log, secret) != strings.Count(log, "::add-mask::"+secret) {
			t.Errorf("%s is in %q, or in the log:\n%s", secret, left, log)
		}
	}
}

// An OAuth token takes the key's place, and is as far from the agent.
func TestAnOAuthToken(t *testing.T) {
	const token = "sk-ant-oat01-not-a-real-token-0123456789"
	api := &fakeapi.Server{Bearer: token,
		Script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' ' '"}}}}}
	server := httptest.NewServer(api)
	defer server.Close()
	s := startStep(t, &fakeapi.Server{}, "INPUT_ANTHROPIC_API_KEY=", "INPUT_CLAUDE_CODE_OAUTH_TOKEN="+token, "SBX_DEVC_UPSTREAM="+server.URL)
	s.wantConclusion(0, "success")
	if len(api.Requests()) < 2 || !strings.Contains(s.log.String(), "::add-mask::"+token+"\n") {
		t.Errorf("%d requests\n%s", len(api.Requests()), s.log.String())
	}
	if left := command(t, s.dir, "sh", "-c", "grep -rlF '"+token+"' . || true"); left != "" {
		t.Errorf("the token is in %s", left)
	}
}

// stepInCloud asks a cloud by the variables of Claude Code, whose secret is in no file, not with the
// agent, and masked.
func stepInCloud(t *testing.T, secret, path string, variables ...string) {
	t.Helper()
	look := `echo keys with the agent: $(cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\0' '\n' | grep -c '[` + secret[:1] +
		`]` + secret[1:12] + `')`
	cloud := &fakeapi.Cloud{
		API: &fakeapi.Server{Script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{look}}}, Final: "done in the cloud"}}}
	server := httptest.NewServer(cloud)
	defer server.Close()
	for i, v := range variables {
		variables[i] = strings.Replace(v, "=ITS", "="+server.URL, 1)
	}
	s := startStep(t, &fakeapi.Server{}, append(variables, "INPUT_ANTHROPIC_API_KEY=")...)
	s.wantConclusion(0, "success")
	arrived := cloud.Arrived()
	for _, got := range arrived {
		if !strings.HasPrefix(got, "Bearer "+secret+" "+path) {
			t.Errorf("arrived %q", got)
		}
	}
	if len(arrived) < 2 || !strings.Contains(s.log.String(), "::add-mask::"+secret+"\n") ||
		!strings.Contains(s.file("output"), "done in the cloud") {
		t.Errorf("%d requests arrived\n%s", len(arrived), s.log.String())
	}
	if spent := s.output("metered_cost_usd"); spent == "" || spent == "0" {
		t.Errorf("it is metered as %q", spent)
	}
	transcript, err := os.ReadFile(s.output("execution_file"))
	if err != nil || !bytes.Contains(transcript, []byte(`keys with the agent: 0"`)) {
		t.Errorf("%v: %s", err, transcript)
	}
	if left := command(t, s.dir, "sh", "-c", "grep -rlF '"+secret+"' . || true"); left != "" {
		t.Errorf("the secret is in %s", left)
	}
}

func TestAStepOnBedrock(t *testing.T) {
	const key = "bedrock-api-key-not-a-real-one-0123456789"
	stepInCloud(t, key, "/model/", "CLAUDE_CODE_USE_BEDROCK=1", "AWS_REGION=eu-central-1", "ANTHROPIC_BEDROCK_BASE_URL=ITS",
		"AWS_BEARER_TOKEN_BEDROCK="+key)
}

func TestAStepOnVertex(t *testing.T) {
	const token = "ya29.vertex-access-token-not-a-real-one"
	stepInCloud(t, token, "/v1/projects/acme-1/locations/europe-west1/publishers/anthropic/models/", "CLAUDE_CODE_USE_VERTEX=1",
		"CLOUD_ML_REGION=europe-west1", "ANTHROPIC_VERTEX_PROJECT_ID=acme-1", "ANTHROPIC_VERTEX_BASE_URL=ITS/v1", "ANTHROPIC_AUTH_TOKEN="+token)
}

func TestRefusedHostFailsTheStepWhenAsked(t *testing.T) {
	script := fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"curl -sS -m 20 https://denied.example/"}}}}
	s := startStep(t, &fakeapi.Server{Script: script}, "INPUT_FAIL_ON_DENIED=true")
	s.wantConclusion(1, "denied")
}

// GitHub's runner interrupts a cancelled step, terminates it 7.5 seconds later
// and kills it 2.5 seconds after that. The exit code tells which one ended it.
func TestCancelledStepEndsWithinTheRunnersPatience(t *testing.T) {
	s := startStep(t, &fakeapi.Server{Always: &fakeapi.Fault{Hang: true}})
	s.untilAsked()
	signal := func(sig syscall.Signal) func() { return func() { _ = s.cmd.Process.Signal(sig) } }
	signal(syscall.SIGINT)()
	terminate := time.AfterFunc(7500*time.Millisecond, signal(syscall.SIGTERM))
	kill := time.AfterFunc(10*time.Second, signal(syscall.SIGKILL))
	defer terminate.Stop()
	defer kill.Stop()
	s.wantConclusion(130, "cancelled")
}

func TestCleanUpRemovesWhatAKilledStepLeft(t *testing.T) {
	s := startStep(t, &fakeapi.Server{Always: &fakeapi.Fault{Hang: true}})
	s.untilAsked()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.wait()
	if s.containers() == "" {
		t.Fatal("the killed step left no containers: there is nothing to clean up")
	}
	if err := s.cleanup(); err != nil {
		t.Error(err)
	}
	if left := s.containers(); left != "" {
		t.Errorf("containers are left: %s", left)
	}
	if entries, err := os.ReadDir(filepath.Join(s.dir, "workspace")); err != nil || len(entries) > 0 {
		t.Errorf("the workspace holds what the run put there: %v, %v", entries, err)
	}
	if got := s.file("output"); !strings.Contains(got, "conclusion<<") || !strings.Contains(got, "\nfailure\n") {
		t.Errorf("outputs: %s", got)
	}
	if !strings.Contains(s.file("summary"), "killed before it could report") {
		t.Errorf("summary:\n%s", s.file("summary"))
	}
}

// Attack: the agent says tokens and prints one; the log of a public repository
// is public. TestAttackSecretsInTheLog has the harder ways.
func TestTokensOfARealRunAreNotInItsLog(t *testing.T) {
	const tokens = "ghp_0123456789abcdefghijklmnopqrstuvwxyzABCD AKIAIOSFODNN7EXAMPLE"
	script := fakeapi.Script{Turns: []fakeapi.Turn{{Text: "found " + tokens, Bash: []string{"echo " + tokens + "; false"}}},
		Final: "the tokens are " + tokens}
	s := startStep(t, &fakeapi.Server{Script: script})
	s.wantConclusion(0, "success")
	for name, text := range map[string]string{"log": s.log.String(), "output": s.file("output"), "summary": s.file("summary")} {
		if strings.Contains(text, "ghp_") || strings.Contains(text, "AKIA") || !strings.Contains(text, "[redacted] [redacted]") {
			t.Errorf("the %s:\n%s", name, text)
		}
	}
	transcripts, err := filepath.Glob(filepath.Join(s.dir, "temp", "*", "transcript.jsonl"))
	if err != nil || len(transcripts) != 1 {
		t.Fatalf("transcripts: %q, %v", transcripts, err)
	}
	if text, err := os.ReadFile(transcripts[0]); err != nil || bytes.Contains(text, []byte("ghp_")) ||
		!bytes.Contains(text, []byte("[redacted]")) {
		t.Errorf("the transcript, %v:\n%s", err, text)
	}
}

// bridgeGateway is the address of this machine on the engine's default
// network: the first one of its subnet, which some engines do not spell out.
func bridgeGateway(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "docker", "network", "inspect", "-f", "{{(index .IPAM.Config 0).Subnet}}", "bridge").Output()
	if err != nil {
		testenv.Missing(t, "a container engine", err.Error())
	}
	subnet, err := netip.ParsePrefix(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return subnet.Masked().Addr().Next().String()
}

// countingServer serves on address and counts its requests.
func countingServer(t *testing.T, address string) (hostPort string, hits *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp4", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	hits = &atomic.Int64{}
	server := &httptest.Server{Listener: listener,
		Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			hits.Add(1)
			fmt.Fprintln(w, "hello")
		})}}
	server.Start()
	t.Cleanup(server.Close)
	return listener.Addr().String(), hits
}
