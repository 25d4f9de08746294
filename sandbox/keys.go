package sandbox

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/relay"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/excerpt"
	"github.com/org/claude-sandbox/internal/tunnel"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// Secrets are what a run knows of secrets and its agent does not say.
type Secrets struct {
	// Values are those of Plan.Secrets and Plan.Keys by name. They are taken out of all that
	// the run keeps and says. Those of the keys stay in this process.
	Values map[string]string
	// Roots are the authorities by which the hosts are verified to which keys go; nil =
	// those that this machine trusts.
	Roots func() (*x509.CertPool, error)
	// Providers are further APIs that the agent's programs may ask, with their keys.
	Providers []credproxy.Provider
}

func (s Secrets) roots() func() (*x509.CertPool, error) {
	if s.Roots == nil {
		return relay.SystemRoots
	}
	return s.Roots
}

// keyHolder serves the keys of a run from this process, through an exec in the
// firewall's container.
type keyHolder struct {
	server *relay.KeyServer
	stream net.Conn
	stderr *excerpt.Tail
	ended  chan struct{}

	bindings []credential.Binding
	tally    credential.Tally
}

// openKeys gives the firewall, which is verified, the way to the keys of the plan. nil =
// it has none.
func openKeys(ctx context.Context, e *engine.Engine, sidecar string, p *runplan.Plan, s Secrets) (*keyHolder, error) {
	if len(p.Keys) == 0 {
		return nil, nil
	}
	keys, err := credential.Fill(p.Bindings(), s.Values)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	hosts, err := json.Marshal(keys.Hosts())
	if err != nil {
		return nil, err
	}
	// Root, whose word alone the firewall takes.
	guest := engine.ExecSpec{Command: []string{runplan.InitPath, "keys", string(hosts)}, User: "0:0", WorkingDir: "/", Stdin: true}
	stream, err := e.Exec(ctx, sidecar, guest)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	k := &keyHolder{stderr: newTail(), ended: make(chan struct{}), bindings: p.Bindings()}
	k.server = relay.NewKeyServer(keys, s.roots(), k.tally.Note)
	k.stream = tunnel.NewConn(stream.Conn(k.stderr))
	go func() { k.server.Serve(k.stream); close(k.ended) }()
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	select {
	case <-k.server.Ready():
		return k, nil
	case <-k.ended:
		err = errors.New("the firewall does not take them")
	case <-timeout.C:
		err = fmt.Errorf("the firewall has not taken them within %s", readyTimeout)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	k.close()
	return nil, fmt.Errorf("%w: giving the firewall the way to the keys: %w: %s", ErrNoStart, err, strings.TrimSpace(k.stderr.String()))
}

// uses returns what each key did. Paths of requests are without secrets of the run.
func (k *keyHolder) uses(clean func(string) string) (all []credential.Use) {
	if k == nil {
		return nil
	}
	return k.tally.Uses(k.bindings, clean)
}

// maxOperations bounds what is said of the use of a key.
const maxOperations = 10

// usesInWords says for people how often each key was used, and for what.
func usesInWords(all []credential.Use) (lines []string) {
	for _, u := range all {
		n, others := 0, false
		var operations []string
		for _, r := range u.Requests {
			n += r.Count
			switch {
			case slices.Contains(operations, r.Operation):
			case r.Operation == "" || len(operations) == maxOperations:
				others = true
			default:
				operations = append(operations, r.Operation)
			}
		}
		if others {
			operations = append(operations, "others")
		}
		line := fmt.Sprintf("the key %s went with %s", u.Name, visible.Count(n, "request"))
		if len(operations) > 0 {
			line += ": " + strings.Join(operations, ", ")
		}
		lines = append(lines, visible.Line(line))
	}
	return lines
}

// close ends it: no request gets a key any more.
func (k *keyHolder) close() {
	if k == nil {
		return
	}
	k.stream.Close()
	<-k.ended
	_ = k.server.Close()
}
