package rights

import (
	"encoding/csv"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Mount is one mount in any of its spellings. Source and Target are as written.
type Mount struct {
	Type     string // "bind", "volume", "tmpfs", "npipe", "image"; "glob" of Podman
	Source   string
	Target   string
	ReadOnly bool // as the container gets it, not as it is written
	Overlay  bool // a volume that lays folders of the host over each other
}

// MountOf reads an element of mounts: a text or an object.
func MountOf(n *jsonc.Node) (m Mount, ok bool) {
	switch n.Kind {
	case jsonc.String:
		return ParseMount(n.Text), true
	case jsonc.Object:
		m.Type = "volume" // readonly is lost on the way, see SBX302
		for key, to := range map[string]*string{"type": &m.Type, "source": &m.Source, "target": &m.Target} {
			if s, ok := n.Member(key).Str(); ok {
				*to = s
			}
		}
		if strings.ContainsAny(m.Type+m.Source+m.Target, `,"`) { // the reference CLI writes them into a text, where they begin more fields
			return ParseMount("type=" + m.Type + ",src=" + m.Source + ",dst=" + m.Target), true
		}
		return m, true
	}
	return m, false
}

// MountFields splits a --mount as the engine does, which reads it as CSV: quotes
// may stand around a field, and commas within them.
func MountFields(s string) []string {
	if fields, err := csv.NewReader(strings.NewReader(s)).Read(); err == nil {
		return fields
	}
	return strings.Split(s, ",")
}

// hostDevice reports whether the device of a volume is a path of the host.
func hostDevice(device string) bool {
	return strings.HasPrefix(device, "/") || strings.HasPrefix(device, "~") || strings.HasPrefix(device, "$")
}

// by is a volume as the engine's own driver makes it from its options, which it passes to mount(2): with a path of the host as its device
// it is a bind mount by another name. A relative one starts where the engine runs, mostly in "/".
func (m Mount) by(device, o string) Mount {
	options := strings.Split(o, ",")
	bind := slices.Contains(options, "bind") || slices.Contains(options, "rbind")
	m.Overlay = strings.Contains(o, "dir=") // folders of the host
	switch {
	case device == "", strings.HasPrefix(device, "//") && !bind: // a share of the network
	case hostDevice(device):
		m.Type, m.Source = "bind", device
	case bind, strings.Contains(device, "/") && !strings.Contains(device, ":"):
		m.Type, m.Source = "bind", path.Join("/", device)
	}
	return m
}

// inCompose is a mount of devcontainer.json's as the reference CLI 0.89 (parseMount, convertMountToVolume) writes it into a Compose file:
// SOURCE:TARGET, whatever its type. The CLI reads a text at its commas, and takes what stands between the first two equals signs of a part.
func inCompose(n *jsonc.Node) Mount {
	m, _ := MountOf(n)
	if text, ok := n.Str(); ok {
		m = Mount{}
		for field := range strings.SplitSeq(text, ",") {
			words := append(strings.Split(field, "="), "")
			switch words[0] {
			case "source", "src":
				m.Source = words[1]
			case "target", "destination", "dst":
				m.Target = words[1]
			}
		}
	}
	if m.Source == "" {
		return Mount{Type: "volume", Target: m.Target}
	}
	return ParseVolume(m.Source + ":" + m.Target)
}

// ParseMount reads the --mount syntax: comma-separated key=value pairs.
func ParseMount(s string) Mount {
	m := Mount{Type: "volume"}
	var device, o string
	for _, field := range MountFields(s) {
		key, value, hasValue := strings.Cut(strings.TrimSpace(field), "=")
		switch strings.ToLower(key) {
		case "type":
			m.Type = strings.ToLower(value)
		case "source", "src":
			m.Source = value
		case "target", "destination", "dst":
			m.Target = value
		case "readonly", "ro":
			m.ReadOnly = !hasValue || IsOn(value)
		case "volume-opt":
			switch option, value, _ := strings.Cut(value, "="); option {
			case "device":
				device = value
			case "o":
				o += "," + value
			}
		}
	}
	if m.Type == "volume" {
		return m.by(device, o)
	}
	return m
}

// ParseVolume reads the -v syntax: [SOURCE:]TARGET[:OPTIONS].
func ParseVolume(s string) Mount {
	parts := compose.SplitVolume(s)
	m := Mount{Type: "volume"}
	if len(parts) == 1 {
		m.Target = parts[0]
		return m
	}
	m.Source, m.Target = parts[0], parts[1]
	if strings.ContainsAny(m.Source, `/\$~`) || strings.HasPrefix(m.Source, ".") {
		m.Type = "bind"
	}
	for _, o := range parts[2:] {
		for option := range strings.SplitSeq(o, ",") {
			m.ReadOnly = option == "ro" || m.ReadOnly && option != "rw"
		}
	}
	return m
}

// Variable is a ${…} reference.
var Variable = regexp.MustCompile(`\$\{[^}]*\}`)

// HostPath is a mount's source seen from where it starts.
type HostPath struct {
	Base string // "/" absolute, "home", "workspace", "" relative or unknown
	Path string // cleaned but where it has a variable, below base, without a leading slash; may start with ".."
}

var (
	homeVariable      = regexp.MustCompile(`^(\$\{(localEnv|env):(HOME|USERPROFILE)[^}]*\}|\$\{HOME\}|\$HOME|~)+`)
	workspaceVariable = regexp.MustCompile(`^\$\{(localWorkspaceFolder)\}`)
	defaultOf         = regexp.MustCompile(`\$\{(?:localEnv|env):[^:}]*:([^}]*)\}`)
)

// Origin resolves the variables that matter for where a source points to. Of
// any other variable its default counts, because that is the visible part.
func Origin(source string) HostPath {
	s := strings.ReplaceAll(source, `\`, "/")
	below := func(rest string) string {
		if strings.Contains(rest, "$") { // what ".." behind a variable leaves is not known
			return strings.TrimLeft(rest, "/")
		}
		return strings.TrimPrefix(path.Clean("."+"/"+rest), "./")
	}
	if m := homeVariable.FindString(s); m != "" {
		return HostPath{"home", below(s[len(m):])}
	}
	if m := workspaceVariable.FindString(s); m != "" {
		return HostPath{"workspace", below(s[len(m):])}
	}
	s = defaultOf.ReplaceAllString(s, "$1")
	if strings.Contains(s, "$") {
		if rest, ok := strings.CutPrefix(s, "/"); ok {
			return HostPath{"/", strings.TrimLeft(rest, "/")}
		}
		return HostPath{"", s}
	}
	if strings.HasPrefix(s, "/") {
		return HostPath{"/", path.Clean("./" + path.Clean(s))} // "/" is "."
	}
	return HostPath{"", path.Clean(s)}
}

// Is reports whether p is name or below it.
func (p HostPath) Is(name string) bool {
	return p.Path == name || strings.HasPrefix(p.Path, name+"/")
}

// Leaves reports whether p leads out of where it starts.
func (p HostPath) Leaves() bool { return p.Path == ".." || strings.HasPrefix(p.Path, "../") }
