package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// TestAttackOperationInARun is a run with a host of which entries allow a part, and
// one that is open as a whole. The agent's programs use the part without any setting
// of theirs; what else they try does not arrive, and the report has it.
func TestAttackOperationInARun(t *testing.T) {
	t.Parallel()
	e := connect(t)
	s := newSites(t, e, "api.sandbox-lab.test", "whole.sandbox-lab.test")
	o := s.defaultsHere()
	o.Command = shell(`
		curl -sS https://api.sandbox-lab.test/v1/curl
		git ls-remote https://api.sandbox-lab.test/v1/repo
		curl -sS https://api.sandbox-lab.test/v2/secret
		curl -sS -X DELETE https://api.sandbox-lab.test/v1/curl
		curl -sS --path-as-is https://api.sandbox-lab.test/v1/../v2/secret
		curl -sS -H 'Host: whole.sandbox-lab.test' https://api.sandbox-lab.test/v1/host
		curl -sS --max-time 5 http://api.sandbox-lab.test/v1/plain
		curl -sS --max-time 5 http://api.sandbox-lab.test:443/v1/plain
		curl -sS https://whole.sandbox-lab.test/x 2>&1
		curl -k -sS https://whole.sandbox-lab.test/v9
		ls -l /run/sbx-trust; cat /run/sbx/ca.pem | tail -1; find / -xdev -newer /run/sbx/ca.pem -name '*.key' 2>/dev/null; exit 0`).Command
	o.User.Network.Allow = []string{"https://api.sandbox-lab.test GET /v1/**", "whole.sandbox-lab.test"}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.ca, 0o644); err != nil {
		t.Fatal(err)
	}
	tr := (&trial{options: o, adjust: func(p *runplan.Plan) { // the made-up sites' authority is no public one
		p.Sidecar.Env = append(p.Sidecar.Env, "SSL_CERT_FILE=/authority.pem")
		p.Sidecar.Mounts = append(p.Sidecar.Mounts, engine.Mount{Source: ca, Target: "/authority.pem", ReadOnly: true})
	}}).run(t, e)
	if tr.err != nil {
		t.Fatal(tr.err)
	}
	var got []string
	for line := range strings.Lines(s.seen()) {
		if line = strings.TrimSpace(line); line != "tcp" {
			got = append(got, line)
		}
	}
	want := "GET api.sandbox-lab.test /v1/curl|GET api.sandbox-lab.test /v1/repo/info/refs|GET whole.sandbox-lab.test /v9"
	if arrived := strings.Join(got, "|"); arrived != want {
		t.Errorf("arrived: %s", arrived)
	}
	for _, words := range []string{
		"claude-sandbox: refused: no entry allows GET /v2/secret at api.sandbox-lab.test", "no entry allows DELETE /v1/curl",
		`segment "." or ".."`, `the request is for "whole.sandbox-lab.test" on a connection to api.sandbox-lab.test`,
		"-r--r--r--", "END CERTIFICATE",
	} {
		if !strings.Contains(tr.stdout.String(), words) {
			t.Errorf("the agent does not read %q:\n%s\n%s", words, tr.stdout.String(), tr.stderr.String())
		}
	}
	if denied := strings.Join(tr.result.Egress.DeniedHosts(), " "); !strings.Contains(denied, "api.sandbox-lab.test") {
		t.Errorf("the attempts are not on record: %s", denied)
	}
}
