package rights

import (
	"path"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
)

// namespaces are the keys that share one, and the option of docker run with the
// same meaning.
var namespaces = [][2]string{{"network_mode", "network"}, {"pid", "pid"}, {"ipc", "ipc"}, {"uts", "uts"}, {"userns_mode", "userns"},
	{"cgroup", "cgroupns"}}

// services reads all services: the dev container reaches those next to it over
// the network.
func (l *lister) services() {
	if l.Compose == nil {
		return
	}
	for _, s := range l.Compose.Services() {
		next := l.Service == nil || s.Name != l.Service.Name
		r := service{l, s, Right{Notation: Compose, Service: s, Next: next}}
		r.rights()
		r.namespaces()
		r.mounts()
		r.grants()
		r.environment()
		r.build()
	}
}

type service struct {
	*lister
	*compose.Service
	what Right
}

func nodePlace(n *compose.Node) Place { return Place{Doc: n.Doc, Start: n.Start, End: n.End} }

// right adds one at a value of the file.
func (s service) right(kind Kind, key string, at *compose.Node, name, value string) {
	r := s.what
	r.Kind, r.Key, r.Name, r.Value, r.Place = kind, key, name, value, nodePlace(at)
	s.add(r)
}

// each adds one for every text of a key.
func (s service) each(kind Kind, key string) {
	for _, n := range s.Get(key).Scalars() {
		s.right(kind, key, n, "", n.Text)
	}
}

func (s service) rights() {
	if n := s.Get("privileged"); n.True() {
		s.right(Privileged, "privileged", n, "", "")
	}
	if _, _, _, built := s.Build(); !built && s.Get("image") != nil { // a build only gives its result that name
		s.right(Image, "image", s.Get("image"), "", s.Get("image").String())
	}
	if n := s.Get("init"); n.True() {
		s.right(Init, "init", n, "", "")
	}
	for _, hook := range []string{"post_start", "pre_stop"} {
		if list := s.Get(hook); list != nil {
			for _, item := range list.Items {
				if n := item.Get("privileged"); n.True() {
					s.right(Privileged, "privileged", n, hook, "")
				}
			}
		}
	}
	for _, n := range s.Get("cap_add").Scalars() {
		s.right(Capability, "cap_add", n, "", CapabilityName(n.Text))
	}
	s.each(SecurityOpt, "security_opt")
	s.devices()
	if n := s.Get("use_api_socket"); n.True() {
		s.right(EngineAPI, "use_api_socket", n, "", "")
	}
	if n := s.Get("user"); n.String() != "" {
		s.right(User, "user", n, "", n.Text)
	}
	if n := s.Get("provider").Get("type"); n != nil {
		s.right(HostProgram, "provider", n, "", n.String())
	}
	for _, v := range s.Get("sysctls").Variables() {
		s.right(Sysctl, "sysctls", v.Node, strings.ReplaceAll(strings.TrimSpace(v.Name), "/", "."), strings.TrimSpace(v.Value))
	}
	for _, v := range s.Get("extra_hosts").Variables() {
		s.right(ExtraHost, "extra_hosts", v.Node, "", v.Name+v.Value)
	}
	for _, start := range []struct {
		key  string
		kind Kind
	}{{"entrypoint", Entrypoint}, {"command", Command}} {
		if n := s.Get(start.key); n != nil && !n.Null {
			r := s.what
			r.Kind, r.Key, r.Value, r.Words, r.Place = start.kind, start.key, strings.Join(n.Words(), " "), n.Words(), nodePlace(n)
			s.add(r)
		}
	}
	s.ports()
}

// devices reads the short and the long form: the text that names one, or the
// map that reserves some.
func (s service) devices() {
	reserved := s.Get("deploy").Get("resources").Get("reservations").Get("devices")
	for _, list := range []*compose.Node{s.Get("devices"), s.Get("device_cgroup_rules"), s.Get("gpus"), reserved} {
		for _, n := range list.Scalars() {
			s.right(Device, "devices", n, "", n.Text)
		}
		if list == nil {
			continue
		}
		for _, item := range list.Items {
			if source := item.Get("source"); source != nil {
				s.right(Device, "devices", source, "", source.String())
			} else if item.Kind == compose.Map {
				s.right(Device, "devices", item, "", "")
			}
		}
	}
}

func (s service) ports() {
	list := s.Get("ports")
	if list == nil {
		return
	}
	for _, n := range list.Items {
		switch n.Kind {
		case compose.Scalar:
			s.right(Port, "ports", n, "", n.Text)
		case compose.Map:
			value, host := n.Get("target").String(), n.Get("host_ip").String()
			if published := n.Get("published"); published != nil {
				value = published.String() + ":" + value
				if strings.Contains(host, ":") {
					host = "[" + host + "]"
				}
				if host != "" {
					value = host + ":" + value
				}
			}
			s.right(Port, "ports", n, "", value)
		}
	}
}

func (s service) namespaces() {
	for _, key := range namespaces {
		if n := s.Get(key[0]); n.String() != "" {
			s.right(Namespace, key[0], n, key[1], n.Text)
		}
	}
	for _, n := range networksOf(s.Service) {
		value := n.Text
		if def := s.Compose.Root.Get("networks").Get(n.Text); def.Get("external") != nil && def.Get("name").String() == "host" {
			value = "host"
		}
		s.right(Namespace, "networks", n, n.Text, value)
	}
}

// networksOf returns the names of a service's networks, as places.
func networksOf(s *compose.Service) []*compose.Node {
	networks := s.Get("networks")
	out := networks.Scalars()
	if networks != nil {
		for _, m := range networks.Members {
			out = append(out, &compose.Node{Doc: m.Value.Doc, Start: m.Start, End: m.End, Text: m.Name})
		}
	}
	return out
}

func (s service) mount(key string, at *compose.Node, m Mount) {
	r := s.what
	r.Kind, r.Key, r.Value, r.Mount, r.Place = Mounted, key, at.String(), m, nodePlace(at)
	r.SourceAt, r.TargetAt = r.Place, r.Place
	if n := at.Get("source"); n != nil {
		r.SourceAt = nodePlace(n)
	}
	s.add(r)
}

func (s service) mounts() {
	for _, m := range s.volumes(s.Service) {
		s.mount("volumes", m.at, m.Mount)
	}
	for _, n := range s.Get("volumes_from").Scalars() {
		s.right(VolumesFrom, "volumes_from", n, "", n.Text)
	}
	for _, n := range s.Get("tmpfs").Scalars() {
		target, _, _ := strings.Cut(n.Text, ":")
		s.mount("tmpfs", n, Mount{Type: "tmpfs", Target: target})
	}
	if s.what.Next {
		return
	}
	for _, m := range s.inherited(s.Service, 0) {
		s.mount("volumes_from", m.at, m.Mount)
	}
}

// inherited is a mount that volumes_from brings.
type inherited struct {
	Mount
	at *compose.Node
}

// inherited returns the mounts that volumes_from takes over from other
// services, where the service has none of its own. The budget bounds them:
// services that take over from several others that do the same multiply them.
func (l *lister) inherited(s *compose.Service, depth int) []inherited {
	var out []inherited
	taken := map[string]bool{}
	for _, m := range l.volumes(s) {
		taken[path.Clean(m.Target)] = true
	}
	const enough = 10 // a longer chain is a circle
	for _, n := range s.Get("volumes_from").Scalars() {
		name, mode, _ := strings.Cut(n.Text, ":")
		other := l.Compose.Service(name)
		if name == "container" || other == nil || depth == enough || !l.Budget.Spend(1) {
			continue
		}
		for _, m := range append(l.volumes(other), l.inherited(other, depth+1)...) {
			if !l.Budget.Spend(1) {
				break
			}
			if target := path.Clean(m.Target); !taken[target] {
				taken[target] = true
				m.ReadOnly, m.at = m.ReadOnly || mode == "ro", n
				out = append(out, m)
			}
		}
	}
	return out
}

// volumes returns a service's own.
func (l *lister) volumes(s *compose.Service) []inherited {
	list := s.Get("volumes")
	if list == nil {
		return nil
	}
	var out []inherited
	for _, n := range list.Items {
		out = append(out, inherited{l.volume(n), n})
	}
	return out
}

// composeVolume reads a volume in its short or long form.
func composeVolume(n *compose.Node) Mount {
	if n.Kind == compose.Map {
		m := Mount{Type: "volume", Source: n.Get("source").String(), Target: n.Get("target").String(), ReadOnly: n.Get("read_only").True()}
		if t := n.Get("type").String(); t != "" {
			m.Type = strings.ToLower(t)
		}
		return m
	}
	return ParseVolume(n.Text)
}

// volume reads a volume of a service.
func (l *lister) volume(n *compose.Node) Mount { return l.named(composeVolume(n)) }

// named is a mount of Compose's, where a volume with the path of a folder of the host among its options is a bind mount by another name.
func (l *lister) named(m Mount) Mount {
	if m.Type != "volume" || m.Source == "" || l.Compose == nil || l.Compose.Root == nil {
		return m
	}
	def := l.Compose.Root.Get("volumes").Get(m.Source)
	options := def.Get("driver_opts")
	device, o := options.Get("device").String(), options.Get("o").String()
	if o == "bind" && def.Get("driver").String() == "local" && device != "" && !hostDevice(device) { // Compose makes it absolute
		m.Type, m.Source = "bind", device
		return m
	}
	return m.by(device, o)
}

// grants reads the secrets and configs that come from the host.
func (s service) grants() {
	for _, kind := range []string{"secrets", "configs"} {
		list := s.Get(kind)
		if list == nil {
			continue
		}
		for _, item := range list.Items {
			name, at := item.String(), item
			if item.Kind == compose.Map {
				name, at = item.Get("source").String(), item.Get("source")
			}
			def := s.Compose.Root.Get(kind).Get(name)
			r := s.what
			r.Kind, r.Key, r.Name, r.Host = Granted, kind, name, def.Get("environment").String()
			r.Mount = Mount{Type: "bind", Source: def.Get("file").String(), Target: item.Get("target").String(), ReadOnly: true}
			if at == nil {
				at = item
			}
			r.Place, r.SourceAt, r.TargetAt = nodePlace(at), nodePlace(at), nodePlace(at)
			if n := item.Get("target"); n != nil {
				r.TargetAt = nodePlace(n)
			}
			s.add(r)
		}
	}
}

func (s service) environment() {
	for _, v := range s.Get("environment").Variables() {
		s.variable(Env, "environment", v)
	}
}

// variable adds one. The host's variables in it are named after itself.
func (s service) variable(kind Kind, key string, v compose.Variable) {
	r := s.what
	r.Kind, r.Key, r.Name, r.Value, r.Place = kind, key, v.Name, v.Value, nodePlace(v.Node)
	if written := string(v.Node.Doc.Src[v.Node.Start:v.Node.End]); !v.Set || strings.Contains(written, "$") {
		r.Host = v.Name
	}
	s.add(r)
}

// build reads what a build gets of the host in addition to its context.
func (s service) build() {
	b := s.Get("build")
	if n := b.Get("network"); n != nil {
		s.right(BuildOption, "network", n, "network", n.String())
	}
	if n := b.Get("privileged"); n.True() {
		s.right(BuildOption, "privileged", n, "privileged", n.Text)
	}
	for _, key := range []string{"ssh", "entitlements"} {
		for _, n := range b.Get(key).Scalars() {
			s.right(BuildOption, key, n, key, n.Text)
		}
	}
	for _, v := range b.Get("args").Variables() {
		s.variable(BuildArg, "args", v)
	}
}
