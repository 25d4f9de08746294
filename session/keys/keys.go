package keys

import (
	"os"
	"slices"
	"strings"
)

// variables hold a key of the model API. The process that starts this program sets them,
// as the Action's step does from its inputs.
func variables() []string {
	return []string{
		"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "INPUT_ANTHROPIC_API_KEY", "INPUT_CLAUDE_CODE_OAUTH_TOKEN", "INPUT_GITHUB_TOKEN",
		"ANTHROPIC_AUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "INPUT_ANTHROPIC_AUTH_TOKEN", "INPUT_ANTHROPIC_CUSTOM_HEADERS",
		"ACTIONS_ID_TOKEN_REQUEST_TOKEN", // with which a workflow's step proves who it is
	}
}

// Keys are the values of those of the variables that are set.
type Keys map[string]string

// split takes the keys out of an environment: those of variables and of more.
func split(environ, more []string) (found Keys, rest []string) {
	found = Keys{}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if (slices.Contains(variables(), name) || slices.Contains(more, name)) && value != "" {
			found[name] = value
			continue
		}
		rest = append(rest, variable)
	}
	return found, rest
}

// Getenv reads the environment, in which the keys are no more.
func (k Keys) Getenv(name string) string {
	if value, ok := k[name]; ok {
		return value
	}
	return os.Getenv(name)
}

// Hide takes the keys out of this process's environment, so that neither the
// programs that it starts nor others of the same user find them there, and closes
// its memory to them, as far as the system can. It comes first in a program: where the
// system wants it, it starts it again. more are variables that hold keys of other kinds.
func Hide(more ...string) Keys {
	found, _ := hidden(more)
	if found == nil {
		// As well as it goes: no program that is started later has a key, and the closed
		// memory is on Linux closed to who looks at the environment too.
		found, _ = split(os.Environ(), more)
	}
	for name := range found {
		_ = os.Unsetenv(name)
	}
	if len(found) > 0 {
		CloseMemory()
	}
	return found
}

// CloseMemory makes this process one that others of the same user can neither trace nor
// read, as far as the system can, and that leaves no core file: before it holds a secret.
func CloseMemory() { closeMemory() }
