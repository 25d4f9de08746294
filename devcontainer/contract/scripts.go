package contract

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// firewallScripts looks into the scripts of the project that set a packet
// filter: those that the Dockerfile copies, and those that hooks name.
func firewallScripts(v *rule.View) (out []rule.Finding) {
	if v.Tree == nil || !raisesItself(v) {
		return nil
	}
	for _, name := range scripts(v) {
		src, err := v.Tree.Read(name)
		if err != nil {
			continue
		}
		commands, err := shell.Parse(string(src[:min(len(src), jsonc.MaxSize)]), nil)
		tooMuch := len(src) > jsonc.MaxSize || errors.Is(err, shell.ErrTooMuch)
		if tooMuch && !bytes.Contains(src, []byte("iptables")) ||
			!tooMuch && !slices.ContainsFunc(commands, func(x *shell.Command) bool { return x.Is("iptables") }) {
			continue
		}
		rel := strings.TrimPrefix(name, v.Dir+"/")
		if rel == name && v.Dir != "." {
			rel = strings.Repeat("../", strings.Count(v.Dir, "/")+1) + name
		}
		doc := jsonc.Text(v.Quoted(rel), src)
		v.Also(doc)
		if tooMuch {
			out = append(out, rule.Finding{Place: rights.Place{Doc: doc}, Message: "the script is too long or too deeply nested to be checked",
				Hint: "shorten it; nothing is known about what it lets through"})
			continue
		}
		out = append(out, leaks(doc, commands)...)
	}
	return out
}

var scriptName = lazyregexp.New(`[\w./-]+\.(sh|bash)\b`)

// scripts names the shell scripts in the tree that the project uses.
func scripts(c *rule.View) []string {
	var out []string
	add := func(name string) {
		if !devcontainer.LeavesTree(name) && c.Tree.Kind(name) == devcontainer.File && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	context := c.Context()
	for _, i := range c.Build.History() {
		if copied, ok := i.Command.(*instructions.CopyCommand); ok && copied.From == "" {
			for _, source := range copied.SourcePaths {
				if scriptName.MatchString(source) {
					add(path.Join(context, i.Expand(source)))
				}
			}
		}
	}
	c.EachHookText(func(text string) {
		for _, name := range scriptName.FindAllString(text, -1) {
			add(path.Join(c.Home, name))
			add(path.Join(c.Dir, path.Base(name)))
		}
	})
	return out
}

// leaks reports the known holes of a firewall's script, each once.
func leaks(doc *jsonc.Document, commands []*shell.Command) (out []rule.Finding) {
	said := map[string]bool{}
	say := func(cmd *shell.Command, message, hint string) {
		if !said[message] {
			said[message] = true
			word := cmd.Words[0]
			out = append(out, rule.Finding{Place: rights.Place{Doc: doc, Start: word.Start, End: word.End}, Message: message, Hint: hint})
		}
	}
	var first, fetched *shell.Command
	six := false
	for _, cmd := range commands {
		switch {
		case cmd.Is("ip6tables", "ip6tables-restore", "nft"), cmd.Is("sysctl") && strings.Contains(joinWords(cmd), "disable_ipv6"):
			six = true
		case cmd.Is("curl", "wget", "dig", "host", "nslookup", "getent") && fetched == nil:
			fetched = cmd
		case cmd.Is("iptables"):
			if first == nil {
				first = cmd
			}
			leak(cmd, fetched, say)
		}
	}
	if !six && first != nil {
		say(first, "IPv6 is not filtered: iptables knows IPv4 only", "write the same rules with ip6tables, or use sbx-init")
	}
	return out
}

func joinWords(cmd *shell.Command) string {
	var words []string
	for _, w := range cmd.Words {
		words = append(words, w.Text)
	}
	return strings.Join(words, " ")
}

func leak(cmd, fetched *shell.Command, say func(*shell.Command, string, string)) {
	line := joinWords(cmd) + " "
	chain, _ := cmd.Value("-A", "-I", "--append", "--insert")
	policy, _ := cmd.Value("-P", "--policy")
	target, _ := cmd.Value("-j", "--jump")
	to, limited := cmd.Value("-d", "--destination", "-o", "--out-interface")
	port, _ := cmd.Value("--dport", "--destination-port")
	switch {
	case policy.Text == "OUTPUT" && strings.HasSuffix(strings.TrimSpace(line), "DROP") && fetched != nil && fetched.Start < cmd.Start:
		say(cmd, "the default becomes DROP only after names were looked up and files fetched",
			"close first, on both address families, then open what is allowed")
	case chain.Text != "OUTPUT" || target.Text != "ACCEPT" || strings.Contains(line, "ESTABLISHED"):
	case port.Text == "53" && !limited:
		say(cmd, "DNS to any server is allowed, and DNS carries data to anybody",
			"allow the one resolver that is used, and let it answer for allowed names only")
	case port.Text == "22" && !limited:
		say(cmd, "SSH to any server is allowed", "allow it to the addresses that need it")
	case limited && lazyregexp.New(`(?i)host_?(network|net|ip)|/(8|12|16|24)$`).MatchString(to.Text):
		say(cmd, "the host's network is allowed as a whole", "allow the one service that is needed, with its port")
	}
}
