package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// Canaries hold in an ordinary run, and leave no trace in its records. Attack: somebody
// opens the firewall while the agent works, in a way that lets everything out; the run is
// no success, whatever the agent says.
func TestAttackTheFirewallIsOpenedWhileTheAgentWorks(t *testing.T) {
	e := connect(t)
	const wait = `cd /workspace; echo ready; while [ ! -e go-on ]; do sleep 0.05; done; echo "all is well"`
	// A user's own one of them; others cannot be killed without a capability.
	const killWaiting = `for p in /proc/[0-9]*; do if grep -qz '^each$' $p/cmdline && kill -9 ${p#/proc/}; then killed=1; fi; done 2>/dev/null
[ "$killed" ]`
	for _, c := range []struct {
		name   string
		rules  [][]string // run in the firewall's container by the user that comes first; nil = none
		broken []string
	}{
		{"held", nil, nil},
		{"the commands that wait are killed", [][]string{{"0", "sh", "-c", killWaiting}, {"agent", "sh", "-c", killWaiting}}, nil},
		{"everything goes out", [][]string{
			{"0", "iptables", "-w", "-I", "OUTPUT", "-j", "ACCEPT"},
			{"0", "iptables", "-w", "-I", "INPUT", "-j", "ACCEPT"},
		}, []string{"a connection arrived", "not the first rule", "restored"}},
		{"a rule is gone", [][]string{{"0", "ip6tables", "-w", "-P", "OUTPUT", "ACCEPT"}}, []string{"the policy of OUTPUT", "restored"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			o := shell(wait)
			o.Canaries = true
			tr := &trial{dir: dir, options: o}
			tr.during = func(p *runplan.Plan, w *workspace.Workspace) {
				for _, rule := range c.rules {
					user := strings.Replace(rule[0], "agent", p.Agent.User, 1)
					args := append([]string{"exec", "-u", user, runplan.FirewallContainer(p.ID)}, rule[1:]...)
					if out, err := exec.Command("docker", args...).CombinedOutput(); err != nil {
						t.Errorf("docker %q: %v: %s", args, err, out)
					}
				}
				if err := os.WriteFile(filepath.Join(w.Dir, "go-on"), nil, 0o644); err != nil {
					t.Error(err)
				}
			}
			tr.run(t, e)
			got := tr.result.Canaries
			if got == nil || got.Tried != 2 || !got.Listener {
				t.Fatalf("canaries: %+v, %v", got, tr.err)
			}
			if c.broken == nil {
				if got.Broken != "" || tr.err != nil || len(tr.result.Egress.Rows) > 0 {
					t.Errorf("%+v, %v, rows %v", got, tr.err, tr.result.Egress.Rows)
				}
				return
			}
			t.Log(got.Broken)
			if !slices.ContainsFunc(c.broken, func(why string) bool { return strings.Contains(got.Broken, why) }) { // it restores itself
				t.Errorf("broken %q has none of %q", got.Broken, c.broken)
			}
			if !errors.Is(tr.err, ErrUnenforced) || tr.result.Outcome.Conclusion != agent.Failure || tr.result.ExitCode == 0 {
				t.Errorf("%v, %+v, %d", tr.err, tr.result.Outcome, tr.result.ExitCode)
			}
		})
	}
}

// A workflow is cancelled while a canary is tried: that is no proof against the firewall. What
// the canary has found by then is.
func TestACanaryThatIsBrokenOff(t *testing.T) {
	stopped := errors.New("the run was stopped")
	for _, arrived := range []bool{false, true} {
		ctx, stop := context.WithCancelCause(t.Context())
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		waiting := func() *standing { // a command that never answers
			here, there := net.Pipe()
			go func() {
				_, _ = there.Read(make([]byte, 1))
				stop(stopped)
			}()
			spec := engine.ExecSpec{Command: []string{"sbx-init", "each", "verify"}}
			return &standing{spec: spec, conn: here, answers: json.NewDecoder(here), problem: newTail()}
		}
		c := &canaries{visit: waiting(), verify: waiting(), result: &Canaries{}, listener: l}
		c.arrived.Store(arrived)
		err = c.note(c.try(ctx, "before the agent began"))
		if errors.Is(err, ErrUnenforced) != arrived || !arrived && !errors.Is(err, stopped) || (c.result.Broken != "") != arrived {
			t.Errorf("arrived %v: %v, %+v", arrived, err, *c.result)
		}
		c.close()
	}
}

// The listener believes the word alone: others on the machine can connect.
func TestCanaryListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &canaries{word: "the word", listener: l}
	defer c.close()
	go c.listen()
	for word, want := range map[string]bool{"another!": false, "": false, "the word": true} {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(word))
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn) // to the listener's end of it
		_ = conn.Close()
		if got := c.arrived.Swap(false); got != want {
			t.Errorf("%q: arrived %v", word, got)
		}
	}
}
