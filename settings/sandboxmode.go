package settings

import "github.com/org/claude-sandbox/internal/jsonc"

// The sandbox modes.
const (
	SandboxNone         = "none"         // Claude Code works on this machine as it is
	SandboxDevcontainer = "devcontainer" // in the sandbox; the default
)

// SandboxModes are the values of sandbox_mode. It is no part of Settings, because those
// come from projects and profiles, too: code that is to be sandboxed must not choose
// that it is not. So only the user's own file is read for it (ReadOwnFile).
var SandboxModes = []string{SandboxDevcontainer, SandboxNone}

func (d *decoder) chooseSandbox(n *jsonc.Node) {
	if d.sandboxModes == nil {
		d.node(n, RuleValue, "sandbox_mode is for your own settings alone",
			"a project or a profile does not decide whether there is a sandbox; 'sbx-devc settings path' names your own file")
		return
	}
	d.choice(n, &d.sandboxMode, d.sandboxModes...)
}
