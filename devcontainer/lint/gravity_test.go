package lint_test

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
)

// TestNamespacesAndCapabilitiesInTheirOwnWords: every namespace has a message and
// hint of its own, and no more is said of a finding than it leads to.
func TestNamespacesAndCapabilitiesInTheirOwnWords(t *testing.T) {
	for arg, c := range map[string]struct {
		message, hint string
		severity      diag.Severity
	}{
		"--network=host":       {"network", "forwardPorts", diag.SeverityError},
		"--pid=host":           {"processes", "no option", diag.SeverityError},
		"--ipc=host":           {"shared memory", "--shm-size", diag.SeverityError},
		"--uts=host":           {"host name", "--hostname", diag.SeverityError},
		"--userns=host":        {"mapping", "engine's setting", diag.SeverityNote},
		"--cap-add=SYS_PTRACE": {"other process of the container", "", diag.SeverityNote},
		"--cap-add=SYS_ADMIN":  {"beyond the container", "", diag.SeverityError},
	} {
		found := false
		for _, f := range lint.Check(devcontainer.Parse("f", []byte(`{"image": "a:1", "runArgs": ["`+arg+`"]}`))) {
			if f.Rule != "SBX403" && f.Rule != "SBX404" {
				continue
			}
			found = true
			if !strings.Contains(f.Message, c.message) || !strings.Contains(f.Hint, c.hint) || f.Severity != c.severity {
				t.Errorf("%s: got %s: %s (%s)", arg, f.Severity, f.Message, f.Hint)
			}
		}
		if !found {
			t.Errorf("%s: nothing is said", arg)
		}
	}
}
