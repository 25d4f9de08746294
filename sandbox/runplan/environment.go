package runplan

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

// DefaultClaudePath is where the images of our template hold Claude Code.
const DefaultClaudePath = "/usr/local/bin/claude"

// checkClaudePath checks where Claude Code is said to be: nowhere that the agent or
// the project can write. "" says nothing.
func checkClaudePath(name string) error {
	if name == "" {
		return nil
	}
	no := func(why string) error {
		return diag.WithHint(fmt.Errorf("%w: the path of claude, %s, %s", ErrConfig, name, why), "give the path in the image, "+
			"such as %s", DefaultClaudePath)
	}
	if !path.IsAbs(name) || path.Clean(name) != name {
		return no("is not absolute or not in its shortest form")
	}
	for _, dir := range []string{WorkspaceTarget, AgentHome, "/tmp", "/var/tmp", "/run", "/var/run", "/dev", "/proc"} {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			return no("is below " + dir + ", which is not the image's")
		}
	}
	return nil
}

// terminalValue matches values of the terminal's variables: they come from the
// person's side and name a kind, not a file.
var terminalValue = regexp.MustCompile(`^[A-Za-z0-9_.@-]{1,64}$`)

// TerminalVariables are those of the caller's environ by which programs know what a
// terminal can do, and in which language its person reads. A TERM that an image may
// not know is one that all know and that does the same. Claude's folder holds its state
// as well, so that the run can give it.
func TerminalVariables(environ []string) []string {
	kind, out := "xterm-256color", []string{"CLAUDE_CONFIG_DIR=" + AgentHome + "/.claude"}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if !terminalValue.MatchString(value) {
			continue
		}
		switch name {
		case "TERM":
			if slices.Contains(knownTerminals, value) {
				kind = value
			}
		case "COLORTERM", "LANG", "NO_COLOR":
			out = append(out, v)
		}
	}
	return append(out, "TERM="+kind)
}

// knownTerminals are in the smallest terminfo of Debian and of Alpine.
var knownTerminals = []string{"xterm", "xterm-256color", "screen", "screen-256color", "tmux", "tmux-256color", "linux", "vt100", "dumb"}

// gitVariables let git work where the engine shows files as another user's, which it
// would refuse, with more settings of the form NAME=VALUE.
func GitVariables(more ...string) []string {
	settings := append([]string{"safe.directory=*"}, more...)
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))}
	for i, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	return env
}
