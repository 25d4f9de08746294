package run

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session"
)

// variablePrefix begins the variables that stand for flags.
const variablePrefix = "SBX_DEVC_"

// VariableOf is the variable that stands for a flag.
func VariableOf(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// UnknownVariables refuses variables of our prefix that mean nothing to a
// command with these flags, nil = none: whoever sets one relies on it. Empty
// ones count as not set.
func UnknownVariables(environ []string, flags *pflag.FlagSet) error {
	known, switches := []string{"UPSTREAM"}, map[string]string{} // known are names without the prefix
	if flags != nil {
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" {
				switches[VariableOf(f.Name)] = "--" + f.Name
				return
			}
			known = append(known, strings.TrimPrefix(VariableOf(f.Name), variablePrefix))
		})
	}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		word, ours := strings.CutPrefix(name, variablePrefix)
		if value == "" || !ours || slices.Contains(known, word) {
			continue
		}
		err := fmt.Errorf("the variable %s means nothing here", name)
		if flag := switches[name]; flag != "" {
			return diag.WithHint(err, "a switch is given as a flag only: %s", flag)
		}
		if best := diag.Suggest(word, known); best != "" {
			return diag.WithHint(err, "did you mean %s? Or unset it", variablePrefix+best)
		}
		return diag.WithHint(err, "unset it; known are SBX_DEVC_UPSTREAM and one for each flag that takes a value, as SBX_DEVC_ALLOW for --allow")
	}
	return nil
}

// FlagsFromEnv gives every flag that takes a value and was not given the value
// of its variable: SBX_DEVC_MAX_TURNS for --max-turns.
func FlagsFromEnv(flags *pflag.FlagSet, getenv func(string) string) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		name := VariableOf(f.Name)
		value := getenv(name)
		if value == "" || f.Changed || f.Value.Type() == "bool" || failed != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			var wrong *pflag.InvalidValueError
			if why := cli.WrongValue(f.Value.Type(), value); why != "" && errors.As(err, &wrong) {
				err = fmt.Errorf("%q is %s", value, why)
			}
			failed = diag.WithHint(fmt.Errorf("%s: %w", name, err), "unset %s, or give it a value that --%s takes", name, f.Name)
		}
	})
	return failed
}

// widening are the flags that open something or start a program of this machine. Their
// variables are named in each run: a shell may have them from a project's .env.
var widening = []string{
	"allow", "whitelist", "whitelist-file", "preset", "private", "network", "mount", "secret", "env", "env-file", "env-prefix", "mcp-config",
	"mcp-passthrough", "user-instructions", "claude-path", "firewall-image", "persist", "profile",
}

// noteVariables says which variables of the caller widen this run, and where its key goes
// if that is not the model API's own address.
func noteVariables(a *cli.App) {
	var names []string
	for _, flag := range widening {
		if name := VariableOf(flag); a.Getenv(name) != "" {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		a.SayLine("note: your environment has a say in this run: %s", strings.Join(names, ", "))
	}
	from, base := session.Address(a.Getenv)
	if at, err := url.Parse(base); from != "" && err == nil && at.Host != "" && !net.ParseIP(at.Hostname()).IsLoopback() {
		a.SayLine("note: the key goes to %s, which %s names", visible.Line(at.Host), from)
	}
}
