package contract

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/firewall"
)

// rulesOf is what a sandbox lets out, as it is written and understood, and
// where its lists are.
type rulesOf struct {
	firewall.Network
	*firewall.Policy
	place   string // with %s for the list's name
	inbound string // how to let a port in, with %d for it
}

// rules returns what the sandbox lets out, by sandbox.jsonc or by the options of
// the firewall Feature; not ok without a sandbox, and where that is not known.
func rules(v *rule.View) (rules rulesOf, ok bool) {
	if !v.Sandboxed() {
		return rules, false
	}
	if _, byFeature := v.FirewallFeature(); !byFeature {
		if v.Policy == nil || v.Policy.Network.Mode == firewall.ModeHost || v.Policy.Network.Mode == firewall.ModeAudit {
			return rules, false // SBX212 says that these keep nothing in
		}
		return rulesOf{v.Policy.Network, v.Policy.Policy(), "network.%s in sandbox.jsonc",
			"use forwardPorts, or add %d to network.inbound in sandbox.jsonc"}, true
	}
	policy, _ := v.FeaturePolicy() // FeatureEntries reports the errors
	if policy == nil {
		return rules, false
	}
	return rulesOf{policy.Network(), policy, "the Feature's option %s", "use forwardPorts; the Feature lets no connection in on port %d"}, true
}

// FeatureEntries reports options of the firewall Feature that are no policy.
func FeatureEntries(v *rule.View) (out []rule.Finding) {
	feature, ok := v.FirewallFeature()
	if !ok {
		return nil
	}
	_, errs := v.FeaturePolicy()
	for _, e := range errs {
		if n := feature.Value.Member(e.List); n != nil {
			out = append(out, v.AtValue(n, fmt.Sprintf("%s: %s", e.List, e.Message), e.Hint))
		}
	}
	return out
}

// closedPorts reports published ports that the firewall does not let in.
// forwardPorts need nothing: editors connect from inside.
func closedPorts(v *rule.View) (out []rule.Finding) {
	rules, ok := rules(v)
	if !ok {
		return nil
	}
	ports := v.Of(rights.Port)
	if slices.ContainsFunc(ports, func(r rights.Right) bool { return r.Value == "*" }) {
		ports = append(ports, v.Of(rights.Exposed)...)
	}
	for _, r := range ports {
		if r.Notation == rights.Compose {
			continue
		}
		text, _, _ := strings.Cut(r.Value, "/")
		number, err := strconv.ParseUint(text[strings.LastIndexByte(text, ':')+1:], 10, 16)
		if err == nil && !slices.Contains(rules.Policy.Inbound(), uint16(number)) {
			out = append(out, rule.AtRight(r, fmt.Sprintf("port %d is published, and the firewall lets no connection in", number),
				fmt.Sprintf(rules.inbound, number)))
		}
	}
	return out
}

// ecosystems are programs that fetch from a package ecosystem, with the words
// that make them do so and the preset that allows it.
var ecosystems = []struct {
	programs []string
	words    []string
	presets  []string
}{
	{[]string{"npm", "yarn", "pnpm"}, []string{"ci", "install", "i", "add", "update"}, []string{"npm"}},
	{[]string{"npx"}, nil, []string{"npm"}},
	{[]string{"pip", "pip3", "uv", "poetry", "pipx", "pipenv"}, []string{"install", "sync", "add", "update"}, []string{"pypi"}},
	{[]string{"go"}, []string{"mod", "get", "install"}, []string{"go"}},
	{[]string{"cargo"}, []string{"build", "fetch", "install", "update", "test"}, []string{"rust"}},
	{[]string{"bundle", "gem"}, []string{"install", "update"}, []string{"rubygems"}},
	{[]string{"composer"}, []string{"install", "update", "require"}, []string{"packagist"}},
	{[]string{"dotnet"}, []string{"restore", "build"}, []string{"nuget"}},
	{[]string{"mvn", "mvnw"}, nil, []string{"maven"}},
	{[]string{"gradle", "gradlew"}, nil, []string{"gradle", "maven"}},
	{[]string{"apt-get", "apt"}, []string{"update", "install"}, []string{"debian", "ubuntu"}},
	{[]string{"apk"}, []string{"add", "update"}, []string{"alpine"}},
}

// refusedCommands reports what lifecycle commands fetch and the policy does not
// allow.
func refusedCommands(v *rule.View) (out []rule.Finding) {
	policy, ok := rules(v)
	if !ok {
		return nil
	}
	v.EachHookCommand(func(hook rights.Right, cmd *shell.Command) {
		if message, hint := policy.refuses(hook.Key, cmd); message != "" {
			out = append(out, v.PolicyFinding(hook, message, hint))
		}
	})
	return out
}

// refuses says what a command of a hook fetches that is not allowed, or "".
func (policy rulesOf) refuses(hook string, cmd *shell.Command) (message, hint string) {
	for _, host := range fetchedHosts(cmd) {
		if d := policy.DecideName(host); !d.Allowed() {
			return fmt.Sprintf("%s reaches for %s, which the policy refuses", hook, host),
				fmt.Sprintf("add %q to "+policy.place+", or do it in the Dockerfile", host, "allow")
		}
	}
	for _, e := range ecosystems {
		if !cmd.Is(e.programs...) || e.words != nil && !slices.ContainsFunc(cmd.Operands(),
			func(w shell.Word) bool { return slices.Contains(e.words, w.Text) }) {
			continue
		}
		if !slices.ContainsFunc(e.presets, func(p string) bool { return policy.allowsPreset(p) }) {
			return fmt.Sprintf("%s runs %s, and the policy allows nothing that it fetches from", hook, cmd.Name()),
				fmt.Sprintf("add the preset %q to "+policy.place+", or do it in the Dockerfile", e.presets[0], "presets")
		}
	}
	return "", ""
}

// isRemote reports whether a host is known and is not the container itself.
func isRemote(host string) bool {
	known := host != "" && !strings.ContainsAny(host, "$`(")
	return known && host != "localhost" && !strings.HasPrefix(host, "127.")
}

// fetchedHosts returns the hosts of addresses that a command names.
func fetchedHosts(cmd *shell.Command) []string {
	if !cmd.Is(shell.Downloaders...) && !cmd.Is("git") {
		return nil
	}
	var out []string
	for _, w := range cmd.Args() {
		u, err := url.Parse(w.Text)
		if err == nil && (u.Scheme == "http" || u.Scheme == "https") && isRemote(u.Hostname()) {
			out = append(out, u.Hostname())
		}
	}
	return out
}

// allowsPreset reports whether the policy names the preset or anything in it.
func (policy rulesOf) allowsPreset(name string) bool {
	if slices.Contains(policy.Presets, name) {
		return true
	}
	entries, _ := firewall.Preset(name)
	for _, entry := range entries {
		domain, _, _ := strings.Cut(strings.TrimPrefix(entry, "*."), ":")
		if policy.DecideName(domain).Allowed() || policy.DecideName("x."+domain).Allowed() {
			return true
		}
		for _, allowed := range policy.Allow {
			if host, _, _ := strings.Cut(strings.TrimPrefix(allowed, "*."), ":"); host == domain || strings.HasSuffix(host, "."+domain) {
				return true
			}
		}
	}
	return false
}
