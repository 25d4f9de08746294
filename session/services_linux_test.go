package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// A run joins the network of its own project's service, whatever another project
// calls a service of its own, and nothing that nobody opened.
func TestJoinServices(t *testing.T) {
	e := enginetest.Connect(t)
	base := t.TempDir()
	project, other := filepath.Join(base, "b"), filepath.Join(base, "a")
	network := func(dir, service string) string {
		name := fmt.Sprintf("sbx-services-%s-%s-%s", filepath.Base(filepath.Dir(base)), filepath.Base(dir), service)
		if _, err := e.CreateNetwork(t.Context(), name, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.RemoveNetwork(context.WithoutCancel(t.Context()), name); err != nil {
				t.Error(err)
			}
		})
		id, err := e.Create(t.Context(), engine.Spec{
			Image: "debian:bookworm-slim", Labels: map[string]string{composeFolder: dir, composeService: service},
			Process: engine.Process{Entrypoint: []string{"sleep", "600"}}, Link: engine.Link{Network: name},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Remove(context.WithoutCancel(t.Context()), id); err != nil {
				t.Error(err)
			}
		})
		if service != "mail" { // which is not started
			if err := e.Start(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		return name
	}
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "compose.yaml"), []byte("services: {cache: {image: redis}}"), 0o644); err != nil {
		t.Fatal(err)
	}
	network(other, "db")
	own := network(filepath.Join(project, "deploy"), "db")
	network(project, "mail")
	for _, c := range []struct {
		what    string
		policy  firewall.Network
		asked   string // --engine-network
		network string
		said    string
	}{
		{"a service that runs", firewall.Network{Allow: []string{"db:5432"}, Private: []string{"db"}}, "", own,
			"the run is in the network " + own + ", for db"},
		{"one that does not", firewall.Network{Allow: []string{"mail:25"}, Private: []string{"mail"}}, "", runplan.DefaultNetwork,
			"docker compose up -d mail"},
		{"one that was never started", firewall.Network{Allow: []string{"cache:6379"}, Private: []string{"cache"}}, "", runplan.DefaultNetwork,
			"docker compose up -d cache"},
		{"a name that is no service", firewall.Network{Allow: []string{"nas:445"}, Private: []string{"nas"}}, "", runplan.DefaultNetwork, ""},
		{"one that is not private", firewall.Network{Allow: []string{"db:5432"}}, "", runplan.DefaultNetwork, ""},
		{"a network that the user named", firewall.Network{Allow: []string{"db:5432"}, Private: []string{"db"}}, "mine", "mine", ""},
	} {
		p := &runplan.Plan{Network: c.policy, Asked: runplan.Options{Containers: runplan.Containers{EngineNetwork: c.asked}}}
		p.Sidecar.Labels = map[string]string{runplan.LabelProject: project}
		if p.Sidecar.Link.Network = c.asked; c.asked == "" {
			p.Sidecar.Link.Network = runplan.DefaultNetwork
		}
		var said []string
		if err := JoinServices(t.Context(), e, p, func(line string) { said = append(said, line) }); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(said, "\n")
		if p.Sidecar.Link.Network != c.network || !strings.Contains(text, c.said) || c.said == "" && text != "" {
			t.Errorf("%s: in %q, says %q", c.what, p.Sidecar.Link.Network, text)
		}
	}
}
