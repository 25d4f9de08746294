package main

import (
	"os"
	"slices"
	"strings"
)

// keyVariables hold a key of the model API. What starts this program sets them,
// as the Action's step does with its inputs.
func keyVariables() []string {
	return []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "INPUT_ANTHROPIC_API_KEY", "INPUT_CLAUDE_CODE_OAUTH_TOKEN"}
}

// keys are the values of those of the keyVariables that are set.
type keys map[string]string

// splitKeys takes the keys out of an environment.
func splitKeys(environ []string) (found keys, rest []string) {
	found = keys{}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if slices.Contains(keyVariables(), name) && value != "" {
			found[name] = value
			continue
		}
		rest = append(rest, variable)
	}
	return found, rest
}

// getenv reads the environment, in which the keys are no more.
func (k keys) getenv(name string) string {
	if value, ok := k[name]; ok {
		return value
	}
	return os.Getenv(name)
}

// hideKeys takes the keys out of this process's environment, so that neither the
// programs that it starts nor others of the same user find them there, and closes
// its memory to them, as far as the system can.
func hideKeys() keys {
	found, err := hidden()
	if err != nil || found == nil {
		// As well as it goes: what is started later has no key at least.
		found, _ = splitKeys(os.Environ())
	}
	for name := range found {
		_ = os.Unsetenv(name)
	}
	if len(found) > 0 {
		closeMemory()
	}
	return found
}
