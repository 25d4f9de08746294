package devcontainer

import (
	"encoding/csv"
	"path"
	"regexp"
	"strings"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// mount is one mount in any of its spellings.
type mount struct {
	kind     string // "bind", "volume", "tmpfs", "npipe"
	source   string
	target   string
	readonly bool // as the container gets it, not as it is written
	node     *jsonc.Node
}

// allMounts collects what mounts, workspaceMount and runArgs mount.
func (c *pass) allMounts() []mount {
	var out []mount
	list := c.root.Member("mounts")
	for _, n := range elements(list) {
		if m, ok := mountOf(n); ok {
			out = append(out, m)
		}
	}
	if s, ok := c.engineOnly("workspaceMount").Str(); ok {
		out = append(out, parseMount(s, c.engineOnly("workspaceMount")))
	}
	for _, a := range c.args {
		switch a.flag {
		case "mount":
			out = append(out, parseMount(a.value, a.node))
		case "volume":
			out = append(out, parseVolume(a.value, a.node))
		}
	}
	return out
}

// mountOf reads an element of mounts: a text or an object.
func mountOf(n *jsonc.Node) (mount, bool) {
	switch n.Kind {
	case jsonc.String:
		return parseMount(n.Text, n), true
	case jsonc.Object:
		m := mount{kind: "volume", node: n} // readonly is lost on the way, see SBX302
		for key, to := range map[string]*string{"type": &m.kind, "source": &m.source, "target": &m.target} {
			if s, ok := n.Member(key).Str(); ok {
				*to = s
			}
		}
		return m, true
	}
	return mount{}, false
}

// mountFields splits a --mount as the engine does, which reads it as CSV: quotes
// may stand around a field, and commas within them.
func mountFields(s string) []string {
	if fields, err := csv.NewReader(strings.NewReader(s)).Read(); err == nil {
		return fields
	}
	return strings.Split(s, ",")
}

// hostDevice reports whether the device of a volume is a path of the host: the
// engine's own volume driver passes it to mount(2), and a bind mount is one.
func hostDevice(device string) bool {
	return strings.HasPrefix(device, "/") || strings.HasPrefix(device, "~") || strings.HasPrefix(device, "$")
}

// parseMount reads the --mount syntax: comma-separated key=value pairs.
func parseMount(s string, n *jsonc.Node) mount {
	m := mount{kind: "volume", node: n}
	device := ""
	for _, field := range mountFields(s) {
		key, value, hasValue := strings.Cut(strings.TrimSpace(field), "=")
		switch strings.ToLower(key) {
		case "type":
			m.kind = strings.ToLower(value)
		case "source", "src":
			m.source = value
		case "target", "destination", "dst":
			m.target = value
		case "readonly", "ro":
			m.readonly = !hasValue || isOn(value)
		case "volume-opt":
			if option, path, _ := strings.Cut(value, "="); option == "device" {
				device = path
			}
		}
	}
	if m.kind == "volume" && hostDevice(device) {
		m.kind, m.source = "bind", device
	}
	return m
}

// variable is a ${…} reference; its colons are not separators.
var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// parseVolume reads the -v syntax: [SOURCE:]TARGET[:OPTIONS].
func parseVolume(s string, n *jsonc.Node) mount {
	var kept []string
	masked := variable.ReplaceAllStringFunc(s, func(v string) string {
		kept = append(kept, v)
		return "\x00"
	})
	restore := func(part string) string {
		for strings.Contains(part, "\x00") && len(kept) > 0 {
			part = strings.Replace(part, "\x00", kept[0], 1)
			kept = kept[1:]
		}
		return part
	}
	drive := ""
	// "c:/x:/y" names a drive, "c:/x" a volume called c, ".:/y:ro" this folder,
	// and a variable is a byte of 0 here.
	if len(masked) > 2 && masked[0] != '.' && masked[0] != 0 && masked[1] == ':' && (masked[2] == '\\' || masked[2] == '/') && strings.Contains(masked[2:], ":") {
		drive, masked = masked[:2], masked[2:]
	}
	parts := strings.Split(masked, ":")
	m := mount{kind: "volume", node: n}
	if len(parts) == 1 {
		m.target = restore(drive + parts[0])
		return m
	}
	m.source, m.target = restore(drive+parts[0]), restore(parts[1])
	if strings.ContainsAny(m.source, `/\$~`) || strings.HasPrefix(m.source, ".") {
		m.kind = "bind"
	}
	for _, o := range parts[2:] {
		for option := range strings.SplitSeq(o, ",") {
			m.readonly = m.readonly || option == "ro" || option == "readonly"
		}
	}
	return m
}

// hostPath is a mount's source seen from where it starts.
type hostPath struct {
	base string // "/" absolute, "home", "workspace", "" relative or unknown
	path string // cleaned, below base, without a leading slash; may start with ".."
}

var (
	homeVariable      = regexp.MustCompile(`^(\$\{(localEnv|env):(HOME|USERPROFILE)[^}]*\}|\$\{HOME\}|\$HOME|~)+`)
	workspaceVariable = regexp.MustCompile(`^\$\{(localWorkspaceFolder)\}`)
	defaultOf         = regexp.MustCompile(`\$\{(?:localEnv|env):[^:}]*:([^}]*)\}`)
)

// origin resolves the variables that matter for where a source points to. Of
// any other variable its default counts, because that is the visible part.
func origin(source string) hostPath {
	s := strings.ReplaceAll(source, `\`, "/")
	below := func(rest string) string { return strings.TrimPrefix(path.Clean("."+"/"+rest), "./") }
	if m := homeVariable.FindString(s); m != "" {
		return hostPath{"home", below(s[len(m):])}
	}
	if m := workspaceVariable.FindString(s); m != "" {
		return hostPath{"workspace", below(s[len(m):])}
	}
	s = defaultOf.ReplaceAllString(s, "$1")
	if strings.HasPrefix(s, "/") {
		return hostPath{"/", path.Clean("./" + path.Clean(s))} // "/" is "."
	}
	return hostPath{"", path.Clean(s)}
}

// is reports whether p is name or below it.
func (p hostPath) is(name string) bool {
	return p.path == name || strings.HasPrefix(p.path, name+"/")
}
