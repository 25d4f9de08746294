package unconfined

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/settings"
)

// Asked is what the user said about the sandbox, where he said it.
type Asked struct {
	Sandbox, NoSandbox bool   // the flags
	Variable           string // of the environment; "" = not set
	VariableName       string
	Settings           string // sandbox_mode of the user's own file; "" = it does not say
	SettingsFile       string
}

// Choice says whether a run has a sandbox.
type Choice struct {
	None   bool
	Origin string // who said None, for people
	Undo   string // how to have the sandbox in later runs
}

// Choose takes the flag, then the variable, then the user's file; without all of them there
// is a sandbox. It errs on two flags that exclude each other and on a word that is no mode.
func Choose(a Asked) (Choice, error) {
	if a.Variable != "" && !slices.Contains(settings.SandboxModes, a.Variable) {
		err := fmt.Errorf("%s cannot be %q", a.VariableName, a.Variable)
		return Choice{}, diag.WithHint(err, "accepted: %s", strings.Join(settings.SandboxModes, ", "))
	}
	switch {
	case a.Sandbox && a.NoSandbox:
		return Choice{}, errors.New("--sandbox and --no-sandbox exclude each other")
	case a.Sandbox:
		return Choice{}, nil
	case a.NoSandbox:
		return Choice{true, "--no-sandbox", "leave out --no-sandbox"}, nil
	case a.Variable == settings.SandboxNone:
		return Choice{true, a.VariableName + "=" + a.Variable, "unset " + a.VariableName}, nil
	case a.Variable == "" && a.Settings == settings.SandboxNone:
		return Choice{true, "sandbox_mode in " + a.SettingsFile, "take sandbox_mode out of " + a.SettingsFile}, nil
	}
	return Choice{}, nil
}

// Warning is what a user reads before a run without a sandbox, one line each.
func (c Choice) Warning() []string {
	return []string{
		"WARNING: Claude Code works WITHOUT A SANDBOX, and asks before nothing that it does (" + c.Origin + ")",
		"  files:    it can read, change and delete every file that you can: your home, your keys, all your projects",
		"  network:  it can reach every host that this machine can, and send there all that it reads; nothing is recorded",
		"  commands: it can run every command as you, also those that outlive it",
		"A text in the project, in an issue or on a web page can tell it to: that gives a stranger your account.",
		"The project's own hooks and MCP servers run, as with plain claude. None of your allowlists, limits, secrets and",
		"protected paths hold. Go on only where you trust all that Claude will read.",
		"To have the sandbox: --sandbox for this run; for later ones " + c.Undo,
	}
}

// Refused is the error of a run without a sandbox that the user has not accepted.
func (c Choice) Refused() error {
	err := fmt.Errorf("a run without a sandbox needs your word (%s)", c.Origin)
	return diag.WithHint(err, "--sandbox runs it in the sandbox; --accept-risks says that you have read the warning")
}
