package rights

import (
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// Hooks are the lifecycle commands that run inside, in this order.
var Hooks = []string{"onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand", "postAttachCommand"}

// metadata reads the properties that devcontainer.json, a Feature's metadata and a
// label's have in common. what is the right without its kind and value.
func (l *lister) metadata(doc *jsonc.Document, root *jsonc.Node, what Right) {
	right := func(key string, n *jsonc.Node, kind Kind, name, value string) Right {
		r := what
		r.Kind, r.Key, r.Name, r.Value = kind, key, name, value
		if r.Notation != Label { // whose text has no places in the file
			r.Place = placeOf(doc, n)
		}
		return r
	}
	if n := root.Member("privileged"); Truthy(n) {
		l.add(right("privileged", n, Privileged, "", ""))
	}
	if n := root.Member("init"); Truthy(n) {
		l.add(right("init", n, Init, "", ""))
	}
	for _, n := range Texts(root.Member("capAdd")) {
		l.add(right("capAdd", n, Capability, "", CapabilityName(n.Text)))
	}
	for _, n := range Texts(root.Member("securityOpt")) {
		l.add(right("securityOpt", n, SecurityOpt, "", n.Text))
	}
	if list := root.Member("mounts"); list != nil {
		for _, n := range list.Elements {
			if m, ok := MountOf(n); ok {
				if l.ByCompose {
					m = l.named(inCompose(n))
				}
				r := right("mounts", n, Mounted, "", n.TextOr(""))
				r.Mount = m
				l.add(r)
			}
		}
	}
	for _, env := range []struct {
		key  string
		kind Kind
	}{{"containerEnv", Env}, {"remoteEnv", SessionEnv}} {
		if n := root.Member(env.key); n != nil && (env.kind == Env || what.Notation != Feature) {
			for _, m := range n.Members {
				if value, ok := m.Value.Str(); ok {
					r := right(env.key, m.Value, env.kind, m.Name, value)
					r.Host = hostVariable(value)
					l.add(r)
				}
			}
		}
	}
	for _, hook := range Hooks {
		if n := root.Member(hook); n != nil && n.Kind != jsonc.Null {
			r := right(hook, n, Hook, "", n.TextOr(""))
			r.Node = n
			l.add(r)
		}
	}
	for _, n := range extensions(root) {
		l.add(right("extensions", n, Extension, "", n.Text))
	}
	for _, user := range []struct {
		key  string
		kind Kind
	}{{"containerUser", User}, {"remoteUser", Session}} {
		// An empty name is none for the reference CLI, which takes the next one: a label's or the image's.
		if name, ok := root.Member(user.key).Str(); ok && name != "" && what.Notation != Feature {
			l.add(right(user.key, root.Member(user.key), user.kind, "", name))
		}
	}
	if text, ok := root.Member("entrypoint").Str(); ok && what.Notation != Property {
		r := right("entrypoint", root.Member("entrypoint"), Entrypoint, "", text)
		r.Words = strings.Fields(text)
		l.add(r)
	}
}

// extensions are those that a configuration or a Feature's metadata names: for
// any tool, and where they stood before customizations.
func extensions(root *jsonc.Node) []*jsonc.Node {
	out := Texts(root.Member("extensions"))
	for _, m := range root.Member("customizations").Fields() {
		out = append(out, Texts(m.Value.Member("extensions"))...)
	}
	return out
}

func (l *lister) properties() {
	root := l.Config.Root
	l.metadata(l.Config, root, Right{Notation: Property})
	right := func(key string, n *jsonc.Node, kind Kind, name, value string) {
		l.add(Right{Kind: kind, Name: name, Value: value, Key: key, Host: hostVariable(value), Place: placeOf(l.Config, n)})
	}
	if n := root.Member("initializeCommand"); n != nil && n.Kind != jsonc.Null {
		l.add(Right{Kind: HostCommand, Value: n.TextOr(""), Key: "initializeCommand", Node: n, Place: placeOf(l.Config, n)})
	}
	for _, m := range root.Member("build").Member("args").Fields() {
		if value, ok := m.Value.Str(); ok {
			right("args", m.Value, BuildArg, m.Name, value)
		}
	}
	if l.ByCompose {
		return
	}
	built := root.Member("dockerFile") != nil || root.Member("build").Member("dockerfile") != nil // which wins over the image
	if n := root.Member("image"); n != nil && n.Kind == jsonc.String && !built {
		right("image", n, Image, "", n.Text)
	}
	if n := root.Member("workspaceMount"); n != nil && n.Kind == jsonc.String {
		l.add(Right{Kind: Mounted, Value: n.Text, Mount: ParseMount(n.Text), Key: "workspaceMount", Place: placeOf(l.Config, n)})
	}
	port := root.Member("appPort")
	if port == nil {
		return
	}
	for _, n := range append(slices.Clone(port.Elements), port) {
		switch n.Kind {
		case jsonc.String:
			right("appPort", n, Port, "", n.Text)
		case jsonc.Number: // the reference CLI publishes it on 127.0.0.1
			right("appPort", n, Port, "number", n.Text)
		}
	}
}

var fromHost = regexp.MustCompile(`\$\{(?:localEnv|env):([^:}]+)`)

// hostVariable is the first variable of the host in a text, or "".
func hostVariable(text string) string {
	if m := fromHost.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// options reads runArgs and build.options.
func (l *lister) options() {
	for _, a := range l.Build {
		r := Right{Kind: BuildOption, Name: a.Flag, Value: a.Value, Notation: Option, Key: a.Flag, Place: placeOf(l.Config, a.Node)}
		l.add(r)
		if a.Flag == "build-arg" {
			l.add(r.variable(BuildArg))
		}
	}
	for _, a := range l.Args {
		if r, ok := option(a); ok {
			r.Notation, r.Key, r.Place = Option, a.Flag, placeOf(l.Config, a.Node)
			l.add(r)
		}
	}
}

// optionKinds are the options of docker run whose value is the right's as it is written.
var optionKinds = map[string]Kind{"security-opt": SecurityOpt, "device": Device, "gpus": Device, "device-cgroup-rule": Device,
	"volumes-from": VolumesFrom, "add-host": ExtraHost, "env-file": EnvFile, "publish": Port, "expose": Exposed, "user": User}

// switches are those that are on or off, with the value that their right has.
var switches = map[string]Right{"privileged": {Kind: Privileged}, "init": {Kind: Init}, "use-api-socket": {Kind: EngineAPI},
	"publish-all": {Kind: Port, Value: "*"}}

// option reads one of docker run's: its kind with the fields that the kind has.
func option(a Arg) (r Right, ok bool) {
	if on, known := switches[a.Flag]; known {
		return on, IsOn(a.Value)
	}
	r.Value = a.Value
	if r.Kind, ok = optionKinds[a.Flag]; ok {
		return r, true
	}
	switch a.Flag {
	case "cap-add":
		r.Kind, r.Value = Capability, CapabilityName(a.Value)
	case "network", "pid", "ipc", "uts", "userns", "cgroupns":
		r.Kind, r.Name = Namespace, a.Flag
	case "mount":
		r.Kind, r.Mount = Mounted, ParseMount(a.Value)
	case "volume":
		r.Kind, r.Mount = Mounted, ParseVolume(a.Value)
	case "tmpfs":
		target, _, _ := strings.Cut(a.Value, ":")
		r.Kind, r.Mount = Mounted, Mount{Type: "tmpfs", Target: target}
	case "env":
		r = r.variable(Env)
	case "sysctl":
		r = r.variable(Sysctl)
		r.Name, r.Value = strings.ReplaceAll(strings.TrimSpace(r.Name), "/", "."), strings.TrimSpace(r.Value)
	case "entrypoint":
		r.Kind, r.Words = Entrypoint, []string{a.Value}
	default:
		return Right{}, false
	}
	return r, true
}

// variable takes NAME=VALUE apart. Without = an option takes the value from the
// host's variable of that name.
func (r Right) variable(kind Kind) Right {
	name, value, literal := strings.Cut(r.Value, "=")
	r.Kind, r.Name, r.Value, r.Host = kind, name, value, hostVariable(value)
	if !literal && kind != Sysctl {
		r.Host = name
	}
	return r
}

func placeOf(doc *jsonc.Document, n *jsonc.Node) Place {
	return Place{doc, n.Start, n.End, n.Pointer}
}

// Texts returns the string elements of an array, or n itself when it is a
// single string where a list belongs.
func Texts(n *jsonc.Node) []*jsonc.Node {
	if n == nil {
		return nil
	}
	if n.Kind == jsonc.String {
		return []*jsonc.Node{n}
	}
	var out []*jsonc.Node
	for _, e := range n.Elements {
		if e.Kind == jsonc.String {
			out = append(out, e)
		}
	}
	return out
}

// Truthy reports whether JavaScript, and so the reference CLI, takes a value
// for true.
func Truthy(n *jsonc.Node) bool {
	if n == nil {
		return false
	}
	switch n.Kind {
	case jsonc.Bool:
		return n.Is(true)
	case jsonc.String:
		return n.Text != ""
	case jsonc.Number:
		return n.Text != "0"
	}
	return n.Kind != jsonc.Null
}
