package attack

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// containerImage has what the firewall needs, and nothing else.
const containerImage = `FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ipset iptables && rm -rf /var/lib/apt/lists/*
`

// docker runs the engine's command line and returns what it prints.
func docker(t testing.TB, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command(testenv.Program(t, "docker"), args...)
	cmd.Stdin = strings.NewReader(input)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, errOut.String())
	}
	return strings.TrimSpace(string(out))
}

// testImage builds the image, the first time on a machine.
func testImage(t testing.TB) string {
	t.Helper()
	if out, err := exec.Command(testenv.Program(t, "docker"), "version").CombinedOutput(); err != nil {
		testenv.Missing(t, "container engine", string(out))
	}
	sum := sha256.Sum256([]byte(containerImage))
	tag := "sbx-attack-test:" + hex.EncodeToString(sum[:6])
	if exec.Command("docker", "image", "inspect", tag).Run() != nil {
		if out, err := exec.Command("docker", "image", "inspect", "debian:bookworm-slim").CombinedOutput(); err != nil {
			testenv.Missing(t, "debian:bookworm-slim", string(out))
		}
		docker(t, containerImage, "build", "-q", "-t", tag, "-")
	}
	return tag
}

var containers atomic.Int64

// pod is a container without a network that an internet of ours is laid
// around; others join its network namespace.
type pod struct {
	*place
	image string
	net   string // name of the container
}

func newPod(t testing.TB) *pod {
	t.Helper()
	bin := programs(t)
	image := testImage(t)
	p := &pod{image: image, net: fmt.Sprintf("sbx-attack-%d-%d", os.Getpid(), containers.Add(1))}
	docker(t, "", "run", "-d", "--rm", "--init", "--name", p.net, "--network", "none", image, "sleep", "infinity")
	t.Cleanup(func() { docker(t, "", "rm", "-f", p.net) })
	pid, err := strconv.Atoi(docker(t, "", "inspect", "-f", "{{.State.Pid}}", p.net))
	if err != nil {
		t.Fatal(err)
	}
	p.place = &place{internet: serve(t, netnstest.NewAround(t, pid)), dir: t.TempDir()}
	p.write("policy.jsonc", Policy)
	p.write("resolv.conf", "search corp.lan\nnameserver "+upstreamAddr+"\n")
	p.write("over", "")
	for _, name := range []string{"sbx-init", "agent"} {
		program, err := os.ReadFile(filepath.Join(bin, name))
		if err == nil {
			err = os.WriteFile(p.path(name), program, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{p.dir, filepath.Dir(p.dir)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// container prepares a container in the pod's network, with the options that
// come before the image.
func (p *pod) container(name string, options []string, argv ...string) *exec.Cmd {
	p.t.Helper()
	args := append([]string{"run", "-i", "--rm", "--name", p.net + name, "--network", "container:" + p.net,
		"-v", p.dir + ":/sbx:ro", "-v", p.path("resolv.conf") + ":/etc/resolv.conf:ro",
		"-e", StateEnv + "=/run/sbx", "-e", PolicyEnv + "=/sbx/policy.jsonc", "-e", OverEnv + "=/sbx/over",
		"--security-opt", "no-new-privileges"}, options...)
	p.t.Cleanup(func() { _ = exec.Command("docker", "rm", "-f", p.net+name).Run() })
	return exec.Command("docker", append(append(args, p.image), argv...)...)
}

// inContainers runs the list from a session in a pod; only families, if given.
func (p *pod) attack(s *session, families ...string) {
	p.t.Helper()
	p.mustPass(s)
	want := func(a Attack) bool {
		return a.Event == "" && (len(families) == 0 || slices.Contains(families, a.Family))
	}
	p.mustHold(column(p.place, want, func(Attack) *session { return s }, strictJudge(policyOf(p.t))))
	p.mustPass(s)
}

// TestAttacksInContainers runs the list on a real engine: with the firewall as
// the first process of the agent's own container, from a session that the
// engine starts later in it, and from a container that joins the firewall's.
func TestAttacksInContainers(t *testing.T) {
	t.Run("single", func(t *testing.T) {
		t.Parallel()
		p := newPod(t)
		s := p.agent(p.container("-single", []string{"--cap-add", "NET_ADMIN", "--cap-add", "NET_RAW"},
			"/sbx/sbx-init", "run", "--policy", "/sbx/policy.jsonc", "--user", agentUID+":"+agentUID, "--", "/sbx/agent"))
		p.attack(s)
		exec := exec.Command("docker", "exec", "-i", "-u", agentUID+":"+agentUID, "-e", StateEnv+"=/run/sbx", "-e",
			PolicyEnv+"=/sbx/policy.jsonc",
			p.net+"-single", "/sbx/agent", "1")
		p.attack(p.agent(exec), "privileges", "the firewall itself", "protocols and packets", "sockets", "the link")
	})
	t.Run("sidecar", func(t *testing.T) {
		t.Parallel()
		p := newPod(t)
		firewall := p.container("-firewall",
			[]string{"--cap-drop", "ALL", "--cap-add", "NET_ADMIN", "--cap-add", "NET_RAW", "--cap-add", "SETPCAP"},
			"/sbx/sbx-init", "run", "--policy", "/sbx/policy.jsonc", "--sidecar")
		out, err := firewall.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		firewall.Stderr = os.Stderr
		p.start(firewall)
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "ready") {
			t.Fatalf("the firewall does not stand: %q %v", line, err)
		}
		p.attack(p.agent(p.container("-agent", []string{"--cap-drop", "ALL", "-u", agentUID + ":" + agentUID}, "/sbx/agent", "1")))
		// Root without capabilities is no more than the agent there.
		p.attack(p.agent(p.container("-root", []string{"--cap-drop", "ALL"}, "/sbx/agent", "1")), "privileges",
			"protocols and packets", "other resolvers")
	})
}
