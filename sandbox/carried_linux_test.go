package sandbox

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/copytree"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// carriedJob has agents work on a clone and on a copy on an engine that mounts nothing of
// this machine: they see the project and its history, and their work and commits come back.
func carriedJob(t *testing.T, e *engine.Engine, image string, modes ...workspace.Mode) {
	t.Helper()
	for _, mode := range modes {
		r := newRepository(t)
		r.write("a.txt", "one\n")
		r.git("project", "add", "-A")
		r.git("project", "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "two")
		r.write("a.txt", "not committed\n")
		before := snapshot(t, r.dir)
		o := onCopy(mode, `set -e; git status --short; cat a.txt; git log -1 --format=%s; id -u; stat -c %u . a.txt
echo b >b; git add b; git commit -q -m mine; echo left >left; ln -s /etc/passwd link; ln b hard; mkdir -p .vscode; `+
			`echo '{}' >.vscode/tasks.json
echo evil >.git/config; rm -f a.txt`)
		o.Remote = e.Remote()
		tr := (&trial{options: o, dir: r.dir, image: image}).run(t, e)
		want := "one\ntwo\n"
		if mode == workspace.Copy {
			want = " M a.txt\nnot committed\ntwo\n"
		}
		if uid := tr.plan.Place.Owner.UID; tr.err != nil || tr.stdout.String() != fmt.Sprintf("%s%d\n%[2]d\n%[2]d\n", want, uid) {
			t.Errorf("%s: %v: %q %s", mode, tr.err, tr.stdout.String(), tr.stderr.String())
			continue
		}
		for _, m := range tr.plan.Agent.Mounts {
			if m.Source != "" && !m.ReadOnly || e.Remote() && m.Source != "" {
				t.Errorf("%s: the engine mounts %+v", mode, m)
			}
		}
		if snapshot(t, r.dir) != before {
			t.Errorf("%s: the project changed", mode)
		}
		if c := tr.result.Commits; len(c) != 1 || c[0].Count != 1 {
			t.Errorf("%s: the commits are %+v", mode, c)
		} else if err := gitdir.Apply(t.Context(), tr.state, c); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if paths := strings.Join(tr.result.Changes.Paths(20), " "); tr.result.WorkTree != TreeFolder ||
			!strings.Contains(paths, "left") || !strings.Contains(paths, ".vscode/tasks.json") || !strings.Contains(paths, "a.txt") {
			t.Errorf("%s: tree %q, changes %q", mode, tr.result.WorkTree, paths)
		}
		tree := filepath.Join(tr.state, TreeFolder)
		for name, want := range map[string]string{"left": "left\n", "hard": "b\n", "b": "b\n"} {
			if text, err := os.ReadFile(filepath.Join(tree, name)); err != nil || string(text) != want {
				t.Errorf("%s: %s is %q, %v", mode, name, text, err)
			}
		}
		leads, _ := os.Readlink(filepath.Join(tree, "link"))
		if _, err := os.Lstat(filepath.Join(tree, ".git/config")); err == nil || leads != "/etc/passwd" {
			t.Errorf("%s: link leads to %q, and .git/config is there: %v", mode, leads, err == nil)
		}
		if _, err := os.Lstat(filepath.Join(tree, "a.txt")); err == nil {
			t.Errorf("%s: what the agent removed is there", mode)
		}
	}
}

// Attack: the agent leaves a file of a terabyte, which takes no room on the engine, so that
// the rest of its work is thrown away with the volume. The work stays there, the commits come
// back, and the copy here is as it was.
func TestAttackACopyThatDoesNotComeBack(t *testing.T) {
	e := farEngine(t)
	r := newRepository(t)
	o := onCopy(workspace.Clone, `set -e; echo b >b; git add b; git commit -q -m mine; echo left >left; truncate -s 1T bomb`)
	o.Remote = true
	tr := (&trial{options: o, dir: r.dir, live: t.TempDir(), keeps: true}).run(t, e)
	kept := func(id string) bool {
		state, err := e.Labels(t.Context(), runplan.FirewallContainer(id))
		return err == nil && state != nil
	}
	warned := strings.Join(tr.result.Warnings, "\n")
	if tr.result.WorkTree != TreeFolder || len(tr.result.Commits) != 1 || !kept(tr.plan.ID) ||
		!strings.Contains(warned, copytree.ErrTooLarge.Error()) || !strings.Contains(warned, runplan.FirewallContainer(tr.plan.ID)) {
		t.Errorf("tree %q, commits %+v, kept %v, warnings %s", tr.result.WorkTree, tr.result.Commits, kept(tr.plan.ID), warned)
	}
	if _, err := os.Lstat(filepath.Join(tr.state, TreeFolder, ".githooks/post-commit")); err != nil {
		t.Errorf("the copy here is not as it was: %v", err)
	}
	connect := func(context.Context) (*engine.Engine, error) { return engine.Connect(t.Context()) }
	again := func(want bool) {
		t.Helper()
		said := strings.Join(Reap(t.Context(), tr.live, connect, nil), "\n")
		if tried := strings.Contains(said, "2 more starts try again") &&
			strings.Contains(said, "docker cp "); !kept(tr.plan.ID) || tried != want {
			t.Errorf("kept %v, said %q", kept(tr.plan.ID), said)
		}
	}
	again(true)
	for range rescueTries {
		again(false) // it was said
	}
	TryAgain(tr.live, tr.plan.ID)
	again(true)
	if err := Remove(t.Context(), e, tr.plan.ID); err != nil {
		t.Error(err)
	}
}

// certificates writes ca.pem, cert.pem and key.pem for an address, for both ends, into dir.
func certificates(t *testing.T, dir, address string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP(address)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	err = errors.Join(os.WriteFile(filepath.Join(dir, "ca.pem"), text, 0o600), os.WriteFile(filepath.Join(dir, "cert.pem"), text, 0o600),
		os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

// farAddress is where the engine of TestUserOfAFarEngine listens, in a network of its own.
const farAddress = "198.51.100.1"

// farFolder is the variable that names the folder of that engine.
const farFolder = "SBX_TEST_FAR_FOLDER"

// serveFar starts a Docker that does not see this machine's folders of tests: their place
// is empty where it is. It speaks TLS, and with those alone who have its certificate.
// forwarded is a socket of it, as ssh makes one of this machine's.
func serveFar(t *testing.T, dir, forwarded string) *engine.Engine {
	t.Helper()
	certificates(t, dir, farAddress)
	script := fmt.Sprintf(`set -e
mount --make-rprivate /
mount --bind %q /mnt
mount -t tmpfs none %q
cd /mnt
hostname far
exec dockerd --host tcp://%s:2376 --host unix://%s --tlsverify --tlscacert ca.pem --tlscert cert.pem --tlskey `+
		`key.pem --data-root /mnt/data \
	--exec-root /mnt/run --pidfile /mnt/docker.pid --log-level error`, dir, os.TempDir(), farAddress, forwarded)
	said, err := os.Create(filepath.Join(dir, "dockerd.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	daemon := exec.Command("unshare", "--mount", "--uts", "bash", "-c", script)
	daemon.Stdout, daemon.Stderr = said, said
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		_ = daemon.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(said.Name())
			t.Logf("%s", text)
		}
	})
	t.Setenv("DOCKER_HOST", "tcp://"+farAddress+":2376")
	t.Setenv("DOCKER_TLS_VERIFY", "1")
	t.Setenv("DOCKER_CERT_PATH", dir)
	e := enginetest.Await(t)
	enginetest.ImportImage(t, enginetest.SmallImage, enginetest.PackPrograms(nil))
	return e
}

// TestUserOfAFarEngine is the test that TestRunOnAnEngineOfAnotherMachine runs in a network
// of its own; on its own it does nothing.
func TestUserOfAFarEngine(t *testing.T) {
	dir := os.Getenv(farFolder)
	if dir == "" {
		return
	}
	forwarded := fmt.Sprintf("/run/sbx-test-%d.sock", os.Getpid())
	defer os.Remove(forwarded)
	e := serveFar(t, dir, forwarded)
	if !e.Remote() || !engine.Elsewhere(os.Getenv) {
		t.Errorf("%s is of this machine", e.Host())
	}
	carriedJob(t, e, enginetest.SmallImage, workspace.Copy)
	readFarJob(t, e)
	killedFarJob(t, e)
	t.Setenv("DOCKER_HOST", "unix://"+forwarded)
	near, err := engine.Connect(t.Context())
	if err != nil || near.Remote() {
		t.Fatalf("%v", err)
	}
	defer near.Close()
	carriedJob(t, near, enginetest.SmallImage, workspace.Clone)
}

// readFarJob has an agent on another machine's engine read the project as it is, which it
// cannot write. Nothing is left of that here.
func readFarJob(t *testing.T, e *engine.Engine) {
	t.Helper()
	r := newRepository(t)
	r.write("a.txt", "not committed\n")
	before := snapshot(t, r.dir)
	o := onCopy(workspace.ReadOnly,
		`cat a.txt; git log -1 --format=%s; ! touch new 2>/dev/null; ! echo x 2>/dev/null >a.txt; rm -rf a.txt 2>/dev/null; cat a.txt`)
	o.Remote = true
	tr := (&trial{options: o, dir: r.dir, image: enginetest.SmallImage}).run(t, e)
	if tr.err != nil || tr.stdout.String() != "not committed\none\nnot committed\n" {
		t.Errorf("%v: %q %s", tr.err, tr.stdout.String(), tr.stderr.String())
	}
	if _, err := os.Lstat(filepath.Join(tr.state, TreeFolder)); err == nil || snapshot(t, r.dir) != before || tr.result.WorkTree != "" {
		t.Errorf("the copy is there: %v; tree %q", err == nil, tr.result.WorkTree)
	}
}

// An engine of another machine, by TLS, that has no folder of this one: agents work on a
// clone and on a copy, and what they did comes back, also when sbx-devc is killed.
func TestRunOnAnEngineOfAnotherMachine(t *testing.T) {
	t.Parallel()
	testenv.Root(t)
	testenv.Program(t, "dockerd")
	dir := t.TempDir()
	script := fmt.Sprintf(`set -e
ip link set lo up
ip addr add %s/32 dev lo
exec %q -test.run='^TestUserOfAFarEngine$' -test.v`, farAddress, os.Args[0])
	cmd := exec.Command("unshare", "--net", "--mount", "--mount-proc", "--pid", "--fork", "--kill-child", "bash", "-c", script)
	cmd.Env = append(os.Environ(), farFolder+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestUserOfAFarEngine") {
		t.Errorf("%v\n%s", err, out)
	}
}

// supervisedFar is the variable that names the folders of TestFarSupervisorToKill.
const supervisedFar = "SBX_TEST_SUPERVISED_FAR"

// TestFarSupervisorToKill is the program that killedFarJob kills; on its own it does nothing.
func TestFarSupervisorToKill(t *testing.T) {
	dir := os.Getenv(supervisedFar)
	if dir == "" {
		return
	}
	e, err := engine.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := onCopy(workspace.Clone, `echo work >work; echo evil >.git/config; echo ready; exec 3<> <(:); while :; do read -t 1 -u 3; done`)
	o.Remote = true
	tr := &trial{options: o, dir: dir, image: enginetest.SmallImage, live: filepath.Join(dir, "../live"),
		state: filepath.Join(dir, "../state")}
	tr.during = func(*runplan.Plan, *workspace.Workspace) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	tr.run(t, e)
}

// killedFarJob kills the program of a run on another machine's engine, and reaps it.
func killedFarJob(t *testing.T, e *engine.Engine) {
	t.Helper()
	r := newRepository(t)
	state, live := filepath.Join(r.dir, "../state"), filepath.Join(r.dir, "../live")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFarSupervisorToKill$", "-test.v")
	cmd.Env = append(os.Environ(), supervisedFar+"="+r.dir)
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%v\n%s", cmd.ProcessState, out)
	}
	said := strings.Join(Reap(t.Context(), live, engine.Connect, nil), "\n")
	text, err := os.ReadFile(filepath.Join(state, TreeFolder, "work"))
	if err != nil || string(text) != "work\n" || !strings.Contains(said, "sbx-devc review") {
		t.Errorf("%q, %v; said %s", text, err, said)
	}
	if set, err := changes.Load(state); err != nil || strings.Join(set.Paths(9), " ") != "work" {
		t.Errorf("%v, %v", set, err)
	}
	if left, err := e.List(t.Context(), runplan.LabelRun, ""); err != nil || len(left) > 0 {
		t.Errorf("containers left behind: %q, %v", left, err)
	}
}
