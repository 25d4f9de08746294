package settings

import "github.com/org/claude-sandbox/internal/jsonc"

// The sandbox modes.
const (
	SandboxNone         = "none"         // Claude Code works on this machine as it is
	SandboxDevcontainer = "devcontainer" // in the sandbox; the default
)

// SandboxModes are the values of sandbox_mode.
var SandboxModes = []string{SandboxDevcontainer, SandboxNone}

// Own is what the user's own file alone can say. It is no part of Settings, because those
// come from projects and profiles, too: code that is to be sandboxed must choose neither
// that it is not nor what the user pays for.
type Own struct {
	SandboxMode string // one of SandboxModes; "" = the file does not say
	Model       string // of Claude; "" = its default
}

// ownOnly reads a value of the user's own file, and refuses it elsewhere.
func (d *decoder) ownOnly(n *jsonc.Node, read func(*Own)) {
	if d.own == nil {
		d.node(n, RuleValue, n.Where()+" is for your own settings alone",
			"a project or a profile does not decide it; 'sbx-devc settings path' names your own file")
		return
	}
	read(d.own)
}
