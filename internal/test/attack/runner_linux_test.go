package attack

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// agentUID is the agent's user in the namespaces. It need not exist.
const agentUID = "54321"

var (
	buildOnce sync.Once
	buildDir  string
	buildErr  error
)

func TestMain(m *testing.M) {
	// The attacks wait for answers more than they work.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	code := m.Run()
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

// programs builds the real sbx-init and the agent and returns their folder.
func programs(t testing.TB) string {
	t.Helper()
	testenv.Root(t)
	buildOnce.Do(func() {
		if buildDir, buildErr = os.MkdirTemp("", "sbx-attack-"); buildErr != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", buildDir, "./cmd/sbx-init", "./internal/test/attack/agent")
		cmd.Dir = "../../.."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			buildErr = errors.New(string(out))
			return
		}
		agent, err := os.ReadFile(filepath.Join(buildDir, "agent"))
		setuid := filepath.Join(buildDir, "agent-setuid")
		buildErr = errors.Join(err, os.Chmod(buildDir, 0o755), os.WriteFile(setuid, agent, 0o755), os.Chmod(setuid, 0o755|os.ModeSetuid))
	})
	if buildErr != nil {
		t.Fatalf("building: %v", buildErr)
	}
	return buildDir
}

// site is one place to attack from: an internet and a folder with a policy, a
// resolv.conf and the firewall's state.
type place struct {
	*internet
	dir     string
	backend string // "legacy"; "" = what sbx-init finds
}

func newPlace(t testing.TB) *place {
	t.Helper()
	bin := programs(t)
	p := &place{internet: newInternet(t), dir: t.TempDir()}
	p.write("policy.jsonc", Policy)
	p.write("resolv.conf", "search corp.lan\nnameserver "+upstreamAddr+"\n")
	for _, dir := range []string{p.dir, filepath.Dir(p.dir)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_ = bin
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(p.path(name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// inside prepares a command in the place's namespace, with its resolv.conf.
func (p *place) inside(argv ...string) *exec.Cmd {
	const script = testenv.LeaveMounts + `mount --bind "$0" /etc/resolv.conf && exec "$@"`
	cmd := exec.Command("unshare", append([]string{"--mount", "sh", "-c", script, p.path("resolv.conf")}, argv...)...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		StateEnv+"="+p.path("run"), PolicyEnv+"="+p.path("policy.jsonc"), SetuidEnv+"="+filepath.Join(buildDir, "agent-setuid"),
		OverEnv+"="+p.path("over"))
	return cmd
}

// start starts a command in the place's namespace; it is killed with the test.
func (p *place) start(cmd *exec.Cmd) {
	p.t.Helper()
	cmd.WaitDelay = time.Second
	var err error
	p.Sandbox.Do(func() { err = cmd.Start() })
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// run runs a program of the machine in the place's namespace.
func (p *place) run(argv ...string) {
	p.t.Helper()
	var out []byte
	var err error
	p.Sandbox.Do(func() { out, err = exec.Command(argv[0], argv[1:]...).CombinedOutput() })
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
}

func (p *place) initArgs(flags ...string) []string {
	return append([]string{filepath.Join(buildDir, "sbx-init"), "run", "--policy", p.path("policy.jsonc"), "--audit",
		p.path("run/audit.jsonl")}, flags...)
}

// sidecar starts the firewall alone and waits until it stands.
func (p *place) sidecar() *exec.Cmd {
	p.t.Helper()
	cmd := p.inside(p.initArgs("--sidecar")...)
	stderr, err := os.Create(p.path("firewall.err"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	p.start(cmd)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "ready") {
		p.t.Fatalf("the firewall does not stand: %q %v\n%s", line, err, p.read("firewall.err"))
	}
	return cmd
}

// stateOf tells how the firewall's process is, and what it said.
func (p *place) stateOf(firewall *exec.Cmd) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", firewall.Process.Pid))
	return fmt.Sprintf("the firewall's process: %s %v; it said: %s", stat, err, p.read("firewall.err"))
}

// read returns what a file of the place holds.
func (p *place) read(name string) string {
	content, err := os.ReadFile(p.path(name))
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// session is a running agent.
type session struct {
	p     *place
	in    io.WriteCloser
	lines chan string
}

// agent starts the agent by a command line.
func (p *place) agent(cmd *exec.Cmd) *session {
	p.t.Helper()
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		p.t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	p.start(cmd)
	s := &session{p: p, in: in, lines: make(chan string, 16)}
	go func() {
		scanner := bufio.NewScanner(out)
		for scanner.Scan() {
			s.lines <- scanner.Text()
		}
		close(s.lines)
	}()
	if line := s.read(); line != "ready" {
		p.t.Fatalf("the agent says %q", line)
	}
	return s
}

func (s *session) read() string {
	select {
	case line := <-s.lines:
		return line
	case <-time.After(2 * time.Minute):
		s.p.t.Fatal("the agent hangs")
		return ""
	}
}

// do has the agent run one attempt and returns what it says of it.
func (s *session) do(id string) string {
	s.p.t.Helper()
	if _, err := fmt.Fprintln(s.in, id); err != nil {
		s.p.t.Fatalf("%s: %v", id, err)
	}
	line, ok := strings.CutPrefix(s.read(), id+" ")
	if !ok {
		s.p.t.Fatalf("%s: the agent is gone", id)
	}
	return line
}

// asUser and asRoot are the agent outside of any sandbox but the namespace.
func (p *place) asUser(args ...string) *session {
	return p.agent(
		p.inside(append([]string{"setpriv", "--reuid", agentUID, "--regid", agentUID, "--clear-groups", filepath.Join(buildDir, "agent")},
			args...)...))
}

func (p *place) asRoot(args ...string) *session {
	return p.agent(p.inside(append([]string{filepath.Join(buildDir, "agent")}, args...)...))
}

// confined is the agent as a container without capabilities has it.
func (p *place) confined(daemon int) *session {
	return p.agent(p.inside("setpriv", "--reuid", agentUID, "--regid", agentUID, "--clear-groups", "--no-new-privs", "--bounding-set",
		"-all", "--inh-caps", "-all",
		filepath.Join(buildDir, "agent"), fmt.Sprint(daemon)))
}

// single is the agent as the command of the firewall's own process.
func (p *place) single() *session {
	cmd := p.inside(p.initArgs("--user", agentUID+":"+agentUID, "--", filepath.Join(buildDir, "agent"))...)
	if p.backend == "legacy" {
		// A table of the legacy backend decides for it, as an engine's would.
		p.run("iptables-legacy", "-t", "nat", "-L")
	}
	return p.agent(cmd)
}

// attempt runs an attack and returns what arrived meanwhile, and what the
// agent said.
func (s *session) attempt(a Attack, n int) ([]Event, string) {
	s.p.t.Helper()
	stop := make(chan struct{})
	var knocking sync.WaitGroup
	if a.Inbound {
		knocking.Go(func() { s.p.knock(a, n, stop) })
	}
	said := s.do(a.ID)
	close(stop)
	knocking.Wait()
	return s.p.arrived(), said
}

// knock tries to reach the sandbox from outside, on an attack's port.
func (p *place) knock(a Attack, n int, stop <-chan struct{}) {
	to := at("192.0.2.2", int(marksOf(a.ID, n).port))
	for {
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
		p.Internet.Do(func() {
			d := net.Dialer{Timeout: 20 * time.Millisecond}
			if conn, err := d.Dial("tcp", to); err == nil {
				hangUp(conn)
			}
			_ = send("udp", to, []byte("knock"), nil)
			from := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(publicDNS), Port: 53}}
			if conn, err := from.Dial("udp", to); err == nil {
				_, _ = conn.Write([]byte("knock"))
				conn.Close()
			}
		})
	}
}
