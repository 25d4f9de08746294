package devcontainer

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// published reports ports that the engine opens to the host's network.
func (c *pass) published() {
	c.composePorts()
	port := c.engineOnly("appPort")
	list := elements(port)
	if port != nil && port.Kind == jsonc.String {
		list = []*jsonc.Node{port}
	}
	for _, n := range list {
		// The reference CLI publishes a bare number on 127.0.0.1 and passes
		// a text to the engine as it is.
		if n.Kind == jsonc.String && onAllAddresses(n.Text) {
			c.at(n, "SBX411", fmt.Sprintf("%q is published on all addresses of the host", n.Text), "use forwardPorts, or put 127.0.0.1: in front")
		}
	}
	for _, a := range c.args {
		if a.flag == "publish" && onAllAddresses(a.value) || a.flag == "publish-all" && isOn(a.value) {
			c.at(a.node, "SBX411", "the port is published on all addresses of the host", "use forwardPorts, or put 127.0.0.1: in front")
		}
	}
}

var loopback = regexp.MustCompile(`^(127\.[0-9.]+|\[::1\]|localhost):`)

// onAllAddresses reads -p: [[ADDRESS:]HOST_PORT:]CONTAINER_PORT[/PROTOCOL].
func onAllAddresses(s string) bool {
	return s != "" && !loopback.MatchString(s) && (!strings.Contains(s, "${"))
}

// knownRights are published Features whose metadata opens the host, and what
// they bring. Only an agent's container is told: for others it is what they
// are chosen for.
var knownRights = map[string]string{
	"docker-in-docker":           "a privileged container",
	"docker-outside-of-docker":   "the host's container engine",
	"docker-from-docker":         "the host's container engine",
	"docker-in-docker-on-podman": "a privileged container",
}

// featurePrivileges reports rights that the file does not show.
func (c *pass) featurePrivileges() {
	features := c.root.Member("features")
	if features == nil {
		return
	}
	for _, m := range features.Members {
		if strings.HasPrefix(m.Name, "./") {
			if what := c.localFeatureRights(m.Name); what != "" {
				c.name(m, "SBX412", fmt.Sprintf("the Feature %s brings %s", m.Name, what), "take it out of the Feature, or use another")
			}
			continue
		}
		id, _, _ := strings.Cut(path.Base(m.Name), ":")
		if what := knownRights[id]; what != "" && (c.sandboxed() || c.agent()) {
			c.name(m, "SBX412", fmt.Sprintf("the Feature %s brings %s", id, what), "an agent there is not contained; leave it out")
		}
	}
}

// engineFeatures hand in the host's container engine: that is what they are for,
// and what their pages say.
var engineFeatures = []string{"docker-outside-of-docker", "docker-from-docker"}

// impliedByEngine are the rules about what the engine's owner can do anyway:
// reach the engine, the host's files, and run commands there. Capabilities and
// namespaces are not among them: beside the engine nothing needs those.
var impliedByEngine = []string{"SBX401", "SBX407", "SBX408"}

// given makes notes of what follows from a decision that the file says in
// plain words: a Feature that hands the engine in. Who keeps a sandbox, or lets
// an agent work there, did not mean that, and gets the errors.
func (c *pass) given() {
	features := c.root.Member("features")
	if features == nil || c.sandboxed() || c.agent() || !slices.ContainsFunc(features.Members, func(m jsonc.Member) bool {
		id, _, _ := splitImage(m.Name)
		return slices.Contains(engineFeatures, path.Base(id))
	}) {
		return
	}
	for i := range c.reports {
		if r := &c.reports[i]; slices.Contains(impliedByEngine, r.Rule) {
			r.Severity = diag.SeverityNote
			r.Hint = "a note only, because a Feature hands in the engine on purpose; " + r.Hint
		}
	}
}

// localFeatureRights reads a Feature of the repository.
func (c *pass) localFeatureRights(name string) string {
	meta := c.localFeature(name)
	if truthy(meta.Member("privileged")) {
		return "a privileged container"
	}
	for _, n := range texts(meta.Member("capAdd")) {
		if name := capabilityName(n.Text); slices.Contains(dangerous, name) {
			return "the capability " + name
		}
	}
	for _, n := range texts(meta.Member("securityOpt")) {
		if switchesOff(n.Text) {
			return n.Text
		}
	}
	for _, n := range elements(meta.Member("mounts")) {
		m, ok := mountOf(n)
		if !ok {
			continue
		}
		if isSocket(m) {
			return "the container engine's socket"
		}
		if what := sensitive(m); what != "" {
			return what + " of the host"
		}
	}
	return ""
}

// agentWords are found where Claude Code is installed or started.
var agentWords = []string{"claude-code", "anthropic.claude", "@anthropic-ai/", "dangerously-skip-permissions"}

func namesAgent(s string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(agentWords, func(w string) bool { return strings.Contains(s, w) })
}

// agent reports whether the configuration installs or starts Claude Code.
func (c *pass) agent() bool { return c.hasAgent() }

func (c *pass) looksLikeAgent() bool {
	found := namesAgent(c.dockerfileText())
	c.root.Walk(func(n *jsonc.Node) {
		found = found || n.Kind == jsonc.String && namesAgent(n.Text)
		for _, m := range n.Members {
			found = found || namesAgent(m.Name)
		}
	})
	return found
}

// newPrivileges advises an agent's container that is no sandbox of ours, whose
// own contract asks for it (SBX805).
func (c *pass) newPrivileges() {
	if c.root.Member("dockerComposeFile") != nil || c.noNewPrivileges() || c.sandboxed() || !c.agent() {
		return
	}
	hint := `add "securityOpt": ["no-new-privileges"]`
	if uses := c.setuidUses(); len(uses) > 0 && uses[0].sure {
		hint = fmt.Sprintf("%s needs %s; do that in the Dockerfile, then %s", strings.TrimSuffix(uses[0].how, runsIt), uses[0].program, hint)
	}
	c.missing(c.root.Member("securityOpt"), "SBX413", "an agent runs here, and nothing keeps setuid programs from making it root", hint)
}
