package devcontainer

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// policyContract compares sandbox.jsonc with what the configuration does.
func (c *pass) policyContract() {
	if c.Policy == nil || c.Policy.Network.Mode == firewall.ModeHost || c.Policy.Network.Mode == firewall.ModeAudit {
		return // SBX212 says that these keep nothing in
	}
	policy := c.Policy.Policy()
	c.closedPorts(policy, `use forwardPorts, or add %d to network.inbound in sandbox.jsonc`)
	for _, hook := range hooks {
		c.refusedCommand(rulesOf{c.Policy.Network, policy, "network.%s in sandbox.jsonc"}, hook)
	}
}

// rulesOf is what a sandbox lets out, as it is written and understood, and
// where its lists are.
type rulesOf struct {
	firewall.Network
	*firewall.Policy
	place string // with %s for the list's name
}

// featurePolicy compares the options of the firewall Feature, which are its
// policy, with what the configuration does.
func (c *pass) featurePolicy(feature jsonc.Member) {
	network, known := featureNetwork(feature)
	if !known {
		return
	}
	policy, errs := firewall.NewPolicy(network)
	for _, e := range errs {
		if n := feature.Value.Member(e.List); n != nil {
			c.at(n, "SBX210", fmt.Sprintf("%s: %s", e.List, e.Message), e.Hint)
		}
	}
	if policy == nil {
		return
	}
	c.closedPorts(policy, "use forwardPorts; the Feature lets no connection in on port %d")
	for _, hook := range hooks {
		c.refusedCommand(rulesOf{network, policy, "the Feature's option %s"}, hook)
	}
}

// closedPorts reports published ports that the firewall does not let in.
// forwardPorts need nothing: editors connect from inside.
func (c *pass) closedPorts(policy *firewall.Policy, hint string) {
	for _, r := range c.of(rights.Port) {
		if r.Notation == rights.Compose {
			continue
		}
		text, _, _ := strings.Cut(r.Value, "/")
		number, err := strconv.ParseUint(text[strings.LastIndexByte(text, ':')+1:], 10, 16)
		if err == nil && !slices.Contains(policy.Inbound(), uint16(number)) {
			c.report("SBX813", told(r, fmt.Sprintf("port %d is published, and the firewall lets no connection in", number),
				fmt.Sprintf(hint, number)))
		}
	}
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

// refusedCommand reports what a lifecycle command fetches and the policy does
// not allow.
func (c *pass) refusedCommand(policy rulesOf, hook string) {
	c.eachCommand(c.root.Member(hook), func(n *jsonc.Node, cmd *shell.Command) {
		for _, host := range fetchedHosts(cmd) {
			if d := policy.DecideName(host); !d.Allowed() {
				c.at(n, "SBX814", fmt.Sprintf("%s reaches for %s, which the policy refuses", hook, host),
					fmt.Sprintf("add %q to "+policy.place+", or do it in the Dockerfile", host, "allow"))
				return
			}
		}
		for _, e := range ecosystems {
			if !cmd.Is(e.programs...) || e.words != nil && !slices.ContainsFunc(cmd.Operands(),
				func(w shell.Word) bool { return slices.Contains(e.words, w.Text) }) {
				continue
			}
			if !slices.ContainsFunc(e.presets, func(p string) bool { return policy.allowsPreset(p) }) {
				c.at(n, "SBX814", fmt.Sprintf("%s runs %s, and the policy allows nothing that it fetches from", hook, cmd.Name()),
					fmt.Sprintf("add the preset %q to "+policy.place+", or do it in the Dockerfile", e.presets[0], "presets"))
				return
			}
		}
	})
}

// eachCommand calls visit for every command of a lifecycle property: a text for
// a shell, an array that is one command, or an object of those.
func (c *view) eachCommand(n *jsonc.Node, visit func(*jsonc.Node, *shell.Command)) {
	if n == nil {
		return
	}
	switch n.Kind {
	case jsonc.String:
		for _, cmd := range c.commandsOf(n, n.Text) {
			visit(n, cmd)
		}
	case jsonc.Array:
		var words []string
		for _, e := range texts(n) {
			words = append(words, e.Text)
		}
		for _, cmd := range c.commandsOf(n, quotedLine(words)) {
			visit(n, cmd)
		}
	case jsonc.Object:
		for _, m := range n.Members {
			c.eachCommand(m.Value, visit)
		}
	}
}

// commandsOf reads shell text that n holds, and remembers when that was too much.
func (c *view) commandsOf(n *jsonc.Node, text string) []*shell.Command {
	commands, err := shell.Parse(text, nil)
	if errors.Is(err, shell.ErrTooMuch) && !slices.Contains(c.tooMuch, n) {
		c.tooMuch = append(c.tooMuch, n)
	}
	return commands
}

// fetchedHosts returns the hosts of addresses that a command names.
func fetchedHosts(cmd *shell.Command) []string {
	if !cmd.Is(downloaders...) && !cmd.Is("git") {
		return nil
	}
	var out []string
	for _, w := range cmd.Args() {
		u, err := url.Parse(w.Text)
		if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && !strings.ContainsAny(u.Hostname(), "$`(") &&
			u.Hostname() != "localhost" && !strings.HasPrefix(u.Hostname(), "127.") {
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
