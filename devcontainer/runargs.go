package devcontainer

import (
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// runArg is one option of "docker run" in runArgs.
type runArg struct {
	flag  string // long form without dashes: "volume"
	value string // "true" for a switch without a value
	node  *jsonc.Node
}

// longOf maps the short options to the long ones, as docker run has them.
// Those that take no value can be written in one word ("-itv").
var (
	longOf = map[byte]string{'v': "volume", 'e': "env", 'u': "user", 'p': "publish", 'w': "workdir", 'h': "hostname",
		'l': "label", 'm': "memory", 'c': "cpu-shares", 'a': "attach"}
	switches = []byte("itdPq")
	aliases  = map[string]string{"net": "network", "security_opt": "security-opt"}
	// withValue are the options that the rules look at and that take the next
	// word as their value when they have no "=".
	withValue = []string{"volume", "env", "user", "mount", "network", "pid", "ipc", "uts", "userns", "cgroupns",
		"cap-add", "security-opt", "device", "gpus", "device-cgroup-rule", "volumes-from", "env-file", "tmpfs", "sysctl", "publish", "add-host"}
)

// parseRunArgs reads runArgs as the engine's command line would.
func parseRunArgs(n *jsonc.Node) []runArg {
	var out []runArg
	words := texts(n)
	for i := 0; i < len(words); i++ {
		word := words[i]
		next := func() string {
			if i+1 < len(words) {
				i++
				return words[i].Text
			}
			return ""
		}
		switch {
		case strings.HasPrefix(word.Text, "--"):
			flag, value, hasValue := strings.Cut(word.Text[2:], "=")
			if long, ok := aliases[flag]; ok {
				flag = long
			}
			if !hasValue {
				value = "true"
				if slices.Contains(withValue, flag) {
					value = next()
				}
			}
			out = append(out, runArg{flag, value, word})
		case strings.HasPrefix(word.Text, "-"):
			letters := strings.TrimLeft(word.Text[1:], string(switches))
			if letters == "" {
				continue
			}
			long, ok := longOf[letters[0]]
			if !ok {
				continue
			}
			value := strings.TrimPrefix(letters[1:], "=")
			if value == "" {
				value = next()
			}
			out = append(out, runArg{long, value, word})
		}
	}
	return out
}

// isOn reports whether the value of a switch means true to the engine's
// command line.
func isOn(value string) bool {
	return slices.Contains([]string{"1", "t", "T", "true", "TRUE", "True"}, value)
}
