package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/canarytest"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/kept"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// canary is the key of the model API in these tests. It is looked for where no
// key may be.
const canary = "sk-ant-api03-canary-5f2c8e1b7a904d36"

// testDockerfile is the image of firewall and agent in these tests: Debian
// with the packet filter's programs, what the attacks use, and Claude Code.
const testDockerfile = `FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends bash ca-certificates curl dnsutils git git-lfs iproute2 ipset iptables ` +
	`procps python3-minimal && rm -rf /var/lib/apt/lists/*
COPY claude /usr/local/bin/claude
RUN chmod 0111 /usr/local/bin/claude
`

var image struct {
	sync.Mutex
	tag string
}

// testImage returns the image, building it the first time on a machine (about
// 20 s). It stays in the engine for the next time.
func testImage(t testing.TB, e *engine.Engine) string {
	t.Helper()
	image.Lock()
	defer image.Unlock()
	if image.tag != "" {
		return image.tag
	}
	ctx := context.Background()
	claude, err := filepath.EvalSymlinks(testenv.Program(t, "claude"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(claude)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d", testDockerfile, claude, info.Size(), info.ModTime().Unix()))
	tag := "sbx-sandbox-test:" + hex.EncodeToString(sum[:6])
	if _, err := e.ImageInspect(ctx, tag); err == nil {
		image.tag = tag
		return tag
	}
	if _, err := e.ImageInspect(ctx, "debian:bookworm-slim"); err != nil {
		testenv.Missing(t, "debian:bookworm-slim", err.Error())
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(testDockerfile), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(filepath.Join(dir, "claude"), claude); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	if _, err := imagebuild.BuildDockerfile(ctx, e, imagebuild.BuildOptions{Context: dir, Tag: tag, Progress: &output}); err != nil {
		t.Fatalf("%v\n%s", err, output.String())
	}
	image.tag = tag
	return tag
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func connect(t testing.TB) *engine.Engine {
	t.Helper()
	e := enginetest.Connect(t)
	enginetest.Carried(t)
	return e
}

// trial is one run against a scripted model API.
type trial struct {
	options runplan.Options
	prompt  io.Reader
	home    []HomeFile
	store   *kept.Store
	secrets map[string]string
	// providers are Secrets.Providers.
	providers []credproxy.Provider
	roots     func() (*x509.CertPool, error)
	script    fakeapi.Script
	key       string         // that the API accepts; "" = canary
	bedrock   *fakeapi.Cloud // the API is Bedrock's; its API is ours
	faults    *fakeapi.Fault
	ledger    spending.Ledger
	// hostAddresses are told to the firewall; see Facts.
	hostAddresses []netip.Addr
	signals       chan os.Signal
	terminal      Terminal
	git           bool // the workspace is a git repository with a .devcontainer
	adjust        func(*runplan.Plan)
	during        func(p *runplan.Plan, w *workspace.Workspace) // called once the agent has printed "ready"

	dir   string // the workspace; "" = a new one
	image string // "" = testImage's
	state string // the run's folder; "" = a new one
	live  string // Host.LiveDir
	keeps bool   // its containers stay
	// mayKeep says that it depends on the engine whether they do.
	mayKeep bool

	commitTimeout time.Duration // Host.CommitTimeout

	stdout notifier
	stderr bytes.Buffer
	said   []string
	api    *fakeapi.Server
	plan   *runplan.Plan
	result *Result
	err    error
}

// notifier collects output and tells when "ready" is in it.
type notifier struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	ready chan struct{}
	once  sync.Once
}

func (n *notifier) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.buf.Write(p)
	if bytes.Contains(n.buf.Bytes(), []byte("ready\n")) {
		n.once.Do(func() { close(n.ready) })
	}
	return len(p), nil
}

func (n *notifier) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.String()
}

// newProject makes a project's folder that belongs to uid 1000 when we may.
func newProject(t *testing.T, git bool) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"main.go": "package main\n"}
	if git {
		files[".git/HEAD"] = "ref: refs/heads/main\n"
		files[".git/config"] = "[core]\n\trepositoryformatversion = 0\n"
		files[".git/hooks/pre-commit"] = "#!/bin/sh\n"
		files[".git/objects/info/x"] = ""
		files[".git/refs/heads/.keep"] = ""
		files[".devcontainer/devcontainer.json"] = "{}"
	}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 {
		err := filepath.WalkDir(dir, func(file string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(file, 1000, 1000))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var trials atomic.Int64

// run carries the trial out and checks that it left nothing behind.
func (tr *trial) run(t *testing.T, e *engine.Engine) *trial {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if tr.key == "" {
		tr.key = canary
	}
	tr.api = &fakeapi.Server{Script: tr.script, APIKey: tr.key, Always: tr.faults}
	api, newCredential := http.Handler(tr.api), credproxy.APIKey
	if tr.bedrock != nil {
		tr.api.APIKey, tr.bedrock.API = "", tr.api
		api, newCredential = tr.bedrock, func(secret string) (credproxy.Credential, error) { return credproxy.BedrockKey(secret, "eu-west-1") }
	}
	server := httptest.NewServer(api)
	defer server.Close()
	upstream, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	credential, err := newCredential(canary)
	if err != nil {
		t.Fatal(err)
	}
	if tr.dir == "" {
		tr.dir = newProject(t, tr.git)
	}
	w, err := workspace.Inspect(tr.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tr.state == "" {
		tr.state = t.TempDir()
	}
	tr.options.Tree = filepath.Join(tr.state, TreeFolder)
	tr.options.ID = fmt.Sprintf("test-%d-%d", os.Getpid(), trials.Add(1))
	if tr.options.Image = tr.image; tr.image == "" {
		tr.options.Image = testImage(t, e)
	}
	if tr.options.FirewallImage == "" {
		tr.options.FirewallImage = tr.options.Image
	}
	if tr.plan, err = newPlan(tr.options, runplan.Facts{Workspace: w, HostAddresses: tr.hostAddresses}); err != nil {
		t.Fatal(err)
	}
	if tr.adjust != nil {
		tr.adjust(tr.plan)
	}
	if tr.prompt == nil {
		tr.prompt = strings.NewReader("the prompt\n")
	}
	tr.stdout.ready = make(chan struct{})
	var during sync.WaitGroup
	if tr.during != nil {
		during.Go(func() {
			select {
			case <-tr.stdout.ready:
				tr.during(tr.plan, w)
			case <-ctx.Done():
				t.Error("the agent never got ready")
			}
		})
	}
	tr.result, tr.err = Run(ctx, e, tr.plan, Host{
		Ledger: tr.ledger,
		Prompt: tr.prompt, Home: tr.home, Kept: tr.store, Stdout: &tr.stdout, Stderr: &tr.stderr, Signals: tr.signals,
		Say:      func(line string) { tr.said = append(tr.said, line) },
		Upstream: upstream, Credential: credential, Secrets: Secrets{Values: tr.secrets, Roots: tr.roots, Providers: tr.providers},
		Terminal: tr.terminal, StateDir: tr.state, LiveDir: tr.live,
		CommitTimeout: tr.commitTimeout,
	})
	during.Wait()
	if left, err := e.List(context.Background(), runplan.LabelRun, tr.options.ID); err != nil || len(left) > 0 != tr.keeps && !tr.mayKeep {
		t.Errorf("containers left behind: %q, %v", left, err)
	}
	forms := canarytest.Forms(canary) // the model's key
	canarytest.Folder(t, tr.state, forms)
	for where, text := range map[string]string{"standard output": tr.stdout.String(), "standard error": tr.stderr.String(),
		"what is said": strings.Join(tr.said, "\n"), "the plan": tr.plan.String()} {
		canarytest.Text(t, where, []byte(text), forms)
	}
	if t.Failed() {
		t.Logf("stdout: %s\nstderr: %s\nsaid: %q\nresult: %+v\nerr: %v", tr.stdout.String(), tr.stderr.String(), tr.said, tr.result, tr.err)
	}
	return tr
}

// shell makes the agent a shell script instead of Claude Code. The script is
// no argument that could collide with anything: bash reads it from -c.
func shell(script string) runplan.Options {
	return runplan.Options{Claude: runplan.Claude{Command: []string{"bash", "-c", script}}}
}

func allow(o runplan.Options, entries ...string) runplan.Options {
	o.User = settings.Settings{Network: firewall.Network{Allow: entries}}
	return o
}
