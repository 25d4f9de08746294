package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// agentUID is the unprivileged user of these tests. It need not exist.
const agentUID = 54321

// agentEnv makes this test binary act as a program of the agent, see agent.
const agentEnv = "SBX_INIT_TEST_AGENT"

func TestMain(m *testing.M) {
	if job := os.Getenv(agentEnv); job != "" {
		os.Exit(agent(job, os.Args[1:]))
	}
	if err := testenv.OwnMounts(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

var (
	buildOnce sync.Once
	buildDir  string
	buildErr  error
)

// binaries returns the folder with the real sbx-init and a copy of this test
// binary, both executable by everybody.
func binaries(t testing.TB) string {
	t.Helper()
	testenv.Root(t)
	buildOnce.Do(func() {
		if buildDir, buildErr = os.MkdirTemp("", "sbx-init-test-"); buildErr != nil {
			return
		}
		if buildErr = os.Chmod(buildDir, 0o755); buildErr != nil {
			return
		}
		build := exec.Command("go", "build", "-o", filepath.Join(buildDir, "sbx-init"), ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			buildErr = errors.New(string(out))
			return
		}
		var self []byte
		if self, buildErr = os.ReadFile("/proc/self/exe"); buildErr == nil {
			buildErr = os.WriteFile(filepath.Join(buildDir, "agent"), self, 0o755)
		}
	})
	if buildErr != nil {
		t.Fatalf("building sbx-init: %v", buildErr)
	}
	return buildDir
}

// box is a place to run sbx-init in: a folder that root owns, with a policy, a
// resolv.conf and an audit log, and a folder "work" that the agent owns.
type box struct {
	t      testing.TB
	ns     *netnstest.Namespace
	dir    string
	bin    string
	flags  []string // of run, beside --policy and --audit
	pid1   bool     // in a PID namespace of its own
	policy string   // "" = policy.jsonc in dir

	firewallMillis int64 // what a sidecar says that its start took
}

const openPolicy = `{"network": {"allow": ["ok.test", "ok6.test", "git.test:22", "*.wild.test", "rebind.test"]}}`

func newBox(t testing.TB, ns *netnstest.Namespace, policy string) *box {
	t.Helper()
	b := &box{t: t, ns: ns, dir: t.TempDir(), bin: binaries(t), flags: []string{"--user", "54321:54321"}}
	b.write("policy.jsonc", policy)
	b.write("resolv.conf", "search corp.lan\nnameserver "+dnsAddr+"\n")
	work := filepath.Join(b.dir, "work")
	if err := errors.Join(os.Chmod(b.dir, 0o755), os.Mkdir(work, 0o755), os.Chown(work, agentUID, agentUID)); err != nil {
		t.Fatal(err)
	}
	// The folder above is t's own and closed to others.
	if err := os.Chmod(filepath.Dir(b.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *box) path(name string) string { return filepath.Join(b.dir, name) }

func (b *box) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(b.path(name), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// command prepares `sbx-init run … -- argv` in the box, with the box's
// resolv.conf in the place of the machine's.
func (b *box) command(argv ...string) *exec.Cmd {
	run := append([]string{"run", "--policy", cmp.Or(b.policy, b.path("policy.jsonc")), "--audit", b.path("run/audit.jsonl")}, b.flags...)
	if len(argv) > 0 {
		run = append(append(run, "--"), argv...)
	}
	return b.initCommand(run...)
}

func (b *box) initCommand(args ...string) *exec.Cmd {
	wrap := []string{"--mount"}
	if b.pid1 {
		wrap = append(wrap, "--pid", "--fork", "--mount-proc")
	}
	const script = testenv.LeaveMounts + `mount --bind "$0" /etc/resolv.conf && exec "$@"`
	wrap = append(wrap, "sh", "-c", script, b.path("resolv.conf"), filepath.Join(b.bin, "sbx-init"))
	cmd := exec.Command("unshare", append(wrap, args...)...)
	cmd.Dir = b.path("work")
	cmd.Env = append(os.Environ(), "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	return cmd
}

// start starts cmd in the box's network namespace; it is killed when the test ends.
func (b *box) start(cmd *exec.Cmd) {
	b.t.Helper()
	cmd.WaitDelay = time.Second // a child that survives its parent must not hang the test
	var err error
	b.ns.Do(func() { err = cmd.Start() })
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = cmd.Process.Kill() })
}

// result is how a run ended.
type result struct {
	code           int
	stdout, stderr string
}

// runLimit bounds a run that hangs; honest ones take a fraction of a second, and a Java
// program on a busy machine half a minute.
const runLimit = 2 * time.Minute

func (b *box) run(argv ...string) result {
	b.t.Helper()
	return b.finish(b.command(argv...))
}

// sh runs a shell script as the agent.
func (b *box) sh(script string) result {
	b.t.Helper()
	return b.run("sh", "-c", script)
}

func (b *box) finish(cmd *exec.Cmd) result {
	b.t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	b.start(cmd)
	err := waitFor(cmd)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatalf("running %q: %v\n%s", cmd.Args, err, errOut.String())
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

func waitFor(cmd *exec.Cmd) error {
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	err := cmd.Wait()
	if ctx.Err() != nil {
		return errors.New("it hangs")
	}
	return err
}

// records reads the audit log.
func (b *box) records() []audit.Record {
	b.t.Helper()
	f, err := os.Open(b.path("run/audit.jsonl"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	records, err := audit.Read(f)
	if err != nil {
		b.t.Fatal(err)
	}
	return records
}

func (r result) mustExit(t testing.TB, code int) {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.stdout, r.stderr)
	}
}

func (r result) mustSay(t testing.TB, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(r.stdout+r.stderr, w) {
			t.Errorf("it does not say %q\nstdout: %s\nstderr: %s", w, r.stdout, r.stderr)
		}
	}
}

// asAgent gives cmd the agent's ids.
func asAgent(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: agentUID, Gid: agentUID}}
	return cmd
}
