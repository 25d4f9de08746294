package rule

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// FirewallWord is a program that raises a firewall.
var FirewallWord = regexp.MustCompile(`\b(sbx-init|init-firewall)\b`)

// Sandboxed reports whether this configuration claims to be a sandbox: only
// then do the contract's rules apply.
func (c *View) Sandboxed() bool { return c.isSandbox() }

func (c *View) looksSandboxed() bool {
	_, found := c.FirewallFeature()
	found = found || c.Settings != nil || namesFirewall(c.DockerfileText())
	c.Root.Walk(func(n *jsonc.Node) { found = found || n.Kind == jsonc.String && namesFirewall(n.Text) })
	for _, doc := range c.Compose {
		found = found || namesFirewall(string(doc.Src))
	}
	return found
}

// namesFirewall is firewallWord, after a look that costs less.
func namesFirewall(s string) bool {
	may := strings.Contains(s, "init") && (strings.Contains(s, "sbx-init") || strings.Contains(s, "init-firewall"))
	return may && FirewallWord.MatchString(s)
}

// DockerfileText is the text of the Dockerfile; "" when there is none, or no configuration that could build it.
func (c *View) DockerfileText() string {
	if c.Build == nil {
		return ""
	}
	return c.Build.File.Text
}

// FirewallFeature returns the firewall Feature among the configuration's, under
// any version, of any publisher, as a tarball or in a folder.
func (c *View) FirewallFeature() (jsonc.Member, bool) {
	features := c.Root.Member("features")
	if features == nil {
		return jsonc.Member{}, false
	}
	i := slices.IndexFunc(features.Members, func(m jsonc.Member) bool { return c.RaisesFirewall(m.Name) })
	if i < 0 {
		return jsonc.Member{}, false
	}
	return features.Members[i], true
}

// FeaturePolicy returns the policy that the options of the firewall Feature in the
// configuration are, or everything that is wrong with them. Both are nil without that
// Feature, and where an option depends on a variable.
func (c *View) FeaturePolicy() (*firewall.Policy, []firewall.EntryError) { return c.featurePolicy() }

func (c *View) readFeaturePolicy() (*firewall.Policy, []firewall.EntryError) {
	feature, found := c.FirewallFeature()
	if !found {
		return nil, nil
	}
	known := true
	list := func(option, byDefault string) (out []string) {
		text, ok := feature.Value.Member(option).Str()
		if !ok {
			text = byDefault
		}
		known = known && !strings.Contains(text, "${")
		for entry := range strings.SplitSeq(text, ",") {
			if entry = strings.TrimSpace(entry); entry != "" {
				out = append(out, entry)
			}
		}
		return out
	}
	network := firewall.Network{Mode: firewall.ModeAllowlist, Presets: list("presets", "anthropic,github,vscode"), Allow: list("allow", ""),
		Deny: list("deny", "gist.github.com"), Private: list("private", "")}
	if !known {
		return nil, nil
	}
	return firewall.NewPolicy(network)
}

// RaisesFirewall reports whether id names the firewall Feature.
func (c *View) RaisesFirewall(id string) bool {
	switch rights.SourceOf(id) {
	case rights.RegistryFeature:
		name, _, _ := rights.SplitImage(id)
		return path.Base(name) == "firewall"
	case rights.TarballFeature:
		return path.Base(id) == "devcontainer-feature-firewall.tgz"
	case rights.LocalFeature:
		meta := c.FeatureMetadata(id)
		if meta == nil {
			return path.Base(id) == "firewall"
		}
		return slices.ContainsFunc(c.Of(rights.Entrypoint), func(r rights.Right) bool {
			return r.Place.Doc == meta && strings.Contains(r.Value, "/sbx/")
		})
	}
	return false
}

// LocalFeature returns the metadata of a Feature of the repository, or nil.
func (c *View) LocalFeature(id string) *jsonc.Node {
	if doc := c.FeatureMetadata(id); doc != nil {
		return doc.Root
	}
	return nil
}

// agentWords are found where Claude Code is installed or started.
var agentWords = []string{"claude-code", "anthropic.claude", "@anthropic-ai/", "dangerously-skip-permissions"}

func namesAgent(s string) bool {
	return slices.ContainsFunc(agentWords, func(w string) bool { return holdsInAnyCase(s, w) })
}

// holdsInAnyCase reports whether a text holds a word, which has a byte that is no letter in front of a letter: those two are
// looked for.
func holdsInAnyCase(s, word string) bool {
	mark := strings.IndexAny(word, "-.@")
	for at := 0; ; at++ {
		next := strings.IndexByte(s[at:], word[mark])
		if next < 0 {
			return false
		}
		at += next
		begin := at - mark
		may := begin >= 0 && begin+len(word) <= len(s) && s[at+1]|' ' == word[mark+1]
		if may && strings.EqualFold(s[begin:begin+len(word)], word) {
			return true
		}
	}
}

// Agent reports whether the configuration installs or starts Claude Code.
func (v *View) Agent() bool { return v.hasAgent() }

func (v *View) looksLikeAgent() bool {
	found := namesAgent(v.DockerfileText())
	v.Root.Walk(func(n *jsonc.Node) {
		found = found || n.Kind == jsonc.String && namesAgent(n.Text)
		for _, m := range n.Members {
			found = found || namesAgent(m.Name)
		}
	})
	return found
}

func (c *View) ComposeServices() []*compose.Service {
	if c.Composed == nil {
		return nil
	}
	return c.Composed.Project.Services()
}
