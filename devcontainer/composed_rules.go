package devcontainer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
)

// composePlace is where a rule has reported something in a Compose file.
type composePlace struct {
	rule, file string
	start      int
}

// inCompose reports a rule at a value of a Compose file, once: extends and
// anchors give one value to several services.
func (c *pass) inCompose(n *compose.Node, rule, message, hint string) *report {
	at := composePlace{rule, n.Doc.File, n.Start}
	if c.said[at] {
		return &report{} // of no consequence
	}
	if c.said == nil {
		c.said = map[composePlace]bool{}
	}
	c.said[at] = true
	return c.in(n.Doc, n.Start, n.End, "", rule, message, hint)
}

// composeFiles reports files that Compose refuses and a service that is not in
// them.
func (c *pass) composeFiles() {
	if c.composed == nil {
		return
	}
	problems := c.composed.project.Problems
	if whole := len(c.Compose) == len(texts(c.root.Member("dockerComposeFile"))); whole {
		problems = slices.Concat(problems, c.composed.project.Refused())
	}
	for _, p := range problems {
		c.in(p.Doc, p.Start, p.End, "", "SBX316", p.Message, "")
	}
	for _, p := range c.composed.project.Twice {
		c.inCompose(&compose.Node{Doc: p.Doc, Start: p.Start, End: p.End}, "SBX102", p.Message, "Compose 2 refuses the file, older versions take the last one")
	}
	name := c.root.Member("service")
	service, ok := name.Str()
	if !ok || c.composed.service != nil || len(c.composed.project.Problems) > 0 || len(c.composed.project.Unread) > 0 ||
		len(c.Compose) < len(texts(c.root.Member("dockerComposeFile"))) || variable.MatchString(service) {
		return
	}
	var known []string
	for _, s := range c.composed.project.Services() {
		known = append(known, s.Name)
	}
	hint := "the Compose files define no services"
	if len(known) > 0 {
		hint = didYouMean(service, known)
	}
	c.at(name, "SBX313", fmt.Sprintf("the Compose files have no service %q", service), hint)
}

// composeHost reports what lets a service out to the host. Services beside the
// dev container count, too: it reaches them over the network.
func (c *pass) composeHost() {
	if c.composed == nil {
		return
	}
	for _, s := range c.composed.project.Services() {
		c.composeRights(s)
		c.composeJoins(s)
		c.composeGrants(s)
		if n := s.Get("use_api_socket"); n.True() {
			c.inCompose(n, "SBX401", "use_api_socket gives access to the container engine, and the credentials for its registries", hintSocket)
		}
		for _, n := range volumesOf(s) {
			c.composeMount(n)
		}
		c.composeBuild(s.Get("build"))
		for _, v := range s.Get("environment").Variables() {
			if v.Name == "DOCKER_HOST" {
				c.inCompose(v.Node, "SBX401", "DOCKER_HOST points the container at an engine outside", hintSocket)
			}
		}
	}
}

// namespaces are the keys that share one with the host, and the option of
// docker run with the same meaning.
var namespaces = [][2]string{{"network_mode", "network"}, {"pid", "pid"}, {"ipc", "ipc"}, {"uts", "uts"}, {"userns_mode", "userns"}, {"cgroup", "cgroupns"}}

func (c *pass) composeRights(s *compose.Service) {
	if n := s.Get("privileged"); n.True() {
		c.inCompose(n, "SBX402", "a privileged container is no border: it owns the host's devices and kernel", "remove it and add the one capability that is needed")
	}
	for _, n := range s.Get("cap_add").Scalars() {
		if name := capabilityName(n.Text); slices.Contains(dangerous, name) {
			message, severity := reach(name)
			c.inCompose(n, "SBX403", message, "remove it").atMost(severity)
		}
	}
	for _, key := range namespaces {
		if n := s.Get(key[0]); n.String() == "host" {
			shared := hostNamespaces[key[1]]
			c.inCompose(n, "SBX404", fmt.Sprintf("%s: host %s", key[0], shared.what), shared.hint).atMost(shared.severity)
		}
	}
	for _, n := range s.Get("security_opt").Scalars() {
		if switchesOff(n.Text) {
			c.inCompose(n, "SBX405", n.Text+" switches a part of the kernel's confinement off", "remove it; a debugger works under the default profile")
		}
	}
	for _, n := range devicesOf(s) {
		what := n.Text
		if n.Kind == compose.Map {
			what = "this"
		}
		if n.Kind == compose.Map || !slices.ContainsFunc(harmlessDevices, func(d string) bool { return strings.HasPrefix(n.Text, d) }) {
			c.inCompose(n, "SBX406", what+" hands in a device of the host", "leave it out unless the work needs it")
		}
	}
	for _, n := range s.Get("volumes_from").Scalars() {
		if strings.HasPrefix(n.Text, "container:") {
			c.inCompose(n, "SBX409", n.Text+" mounts what another container has mounted", "name the volume that is needed")
		}
	}
	for _, v := range s.Get("extra_hosts").Variables() {
		if strings.Contains(v.Name+v.Value, "host-gateway") {
			c.inCompose(v.Node, "SBX409", "host-gateway opens a way to services of the host", "run the service in a container, or reach it by a name that a policy allows")
		}
	}
}

// devicesOf returns what a service gets of the host's devices, in the short and
// the long form: the text that names one, or the map that reserves some.
func devicesOf(s *compose.Service) (out []*compose.Node) {
	reserved := s.Get("deploy").Get("resources").Get("reservations").Get("devices")
	for _, list := range []*compose.Node{s.Get("devices"), s.Get("device_cgroup_rules"), s.Get("gpus"), reserved} {
		out = append(out, list.Scalars()...)
		if list == nil {
			continue
		}
		for _, item := range list.Items {
			if source := item.Get("source"); source != nil {
				out = append(out, source)
			} else if item.Kind == compose.Map {
				out = append(out, item)
			}
		}
	}
	return out
}

func (c *pass) composeMount(n *compose.Node) {
	m := c.composed.volume(n)
	at := n
	if source := n.Get("source"); source != nil {
		at = source
	}
	c.composeSource(at, m)
}

// composeSource reports a place of the host that must not be handed in.
func (c *pass) composeSource(at *compose.Node, m mount) bool {
	if m.kind != "bind" && m.kind != "npipe" {
		return false
	}
	if isSocket(m) {
		c.inCompose(at, "SBX401", fmt.Sprintf("the mount of %q gives access to the container engine", m.source), hintSocket)
		return true
	}
	if c.handsInSession(m, func(rule, message, hint string) { c.inCompose(at, rule, message, hint) }) {
		return true
	}
	// A relative source starts at the Compose file: the project and what lies
	// around it is what people mount.
	if p := origin(m.source); p.base == "/" || p.base == "home" {
		if what := sensitive(m); what != "" {
			c.inCompose(at, "SBX407", fmt.Sprintf("%s of the host is mounted", what), "mount only the folder that is needed, and nothing that holds keys")
			return true
		}
	}
	return false
}

// composeBuild reports what a build gets of the host beside its context.
func (c *pass) composeBuild(b *compose.Node) {
	if n := b.Get("network"); n.String() == "host" {
		c.inCompose(n, "SBX410", "network: host gives the build the host's network", "leave it out, or fetch in a build stage that needs none of it")
	}
	if n := b.Get("privileged"); n.True() {
		c.inCompose(n, "SBX410", "privileged gives the build the host's rights", "remove it")
	}
	for _, key := range []string{"ssh", "entitlements"} {
		for _, n := range b.Get(key).Scalars() {
			c.inCompose(n, "SBX410", key+" gives the build more than its context", "leave it out, or fetch in a build stage that needs none of it")
		}
	}
}

// composePorts reports ports of the dev container that everybody on the host's
// network reaches.
func (c *pass) composePorts() {
	s := c.composed.dev()
	if s == nil || s.Get("ports") == nil {
		return
	}
	for _, n := range s.Get("ports").Items {
		open := false
		switch n.Kind {
		case compose.Scalar:
			open = onAllAddresses(n.Text) && strings.Contains(n.Text, ":")
		case compose.Map:
			host := n.Get("host_ip").String()
			open = n.Get("published") != nil && (host == "" || host == "0.0.0.0" || host == "::")
		}
		if open {
			c.inCompose(n, "SBX411", "the port is published on all addresses of the host", "use forwardPorts, or put 127.0.0.1: in front")
		}
	}
}

// composeSecrets reports keys in the files, and keys of the host that become
// part of the dev container or of an image.
func (c *pass) composeSecrets() {
	if c.composed == nil {
		return
	}
	for _, s := range c.composed.project.Services() {
		for _, v := range s.Get("environment").Variables() {
			c.composeSecret(v, "SBX502", s == c.composed.service || c.composed.service != nil && s.Name == c.composed.service.Name)
		}
		for _, v := range s.Get("build").Get("args").Variables() {
			c.composeSecret(v, "SBX504", true)
		}
	}
}

func (c *pass) composeSecret(v compose.Variable, passed string, dev bool) {
	written := string(v.Node.Doc.Src[v.Node.Start:v.Node.End])
	fromHost := !v.Set || strings.Contains(written, "$")
	switch {
	case !fromHost && isSecret(v.Name, v.Value):
		c.inCompose(v.Node, "SBX501", fmt.Sprintf("%s holds what looks like a key", v.Name), "revoke it, and pass it as a secret of Compose")
	case fromHost && dev && secretName.MatchString(v.Name):
		message := v.Name + " of the host becomes part of the container, where inspect shows it"
		if passed == "SBX504" {
			message = v.Name + " stays readable in the image"
		}
		c.inCompose(v.Node, passed, message, "pass it as a secret of Compose, which is a file in the container")
	}
}

// composeImages looks at how services name their images.
func (c *pass) composeImages() {
	if c.composed == nil {
		return
	}
	for _, s := range c.composed.project.Services() {
		n := s.Get("image")
		if _, _, _, builds := s.Build(); builds || n.String() == "" || strings.Contains(n.Text, "$") {
			continue // with build, image only names the result
		}
		switch name, tag, digest := splitImage(n.Text); {
		case digest != "":
		case tag == "" || tag == "latest":
			c.inCompose(n, "SBX602", fmt.Sprintf("the image %s is whatever was published last", name), "name a version, or better a digest: "+name+":VERSION@sha256:…")
		default:
			c.inCompose(n, "SBX601", fmt.Sprintf("the image %s is not pinned to a digest", n.Text), "add @sha256:…, as the registry reports it")
		}
	}
}
