package merge

import (
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// keyer names the elements of a list whose order means nothing: two elements
// with one key are the same thing in two versions.
type keyer func(array *jsonc.Node) (keys []string, ok bool)

// keyerOf returns how the list at a pointer is merged; nil means that its
// order counts and it is one value.
func keyerOf(pointer string) keyer {
	switch pointer {
	case "/mounts":
		return byTarget
	case "/runArgs":
		return byFlag
	case "/capAdd", "/securityOpt", "/forwardPorts", "/overrideFeatureInstallOrder",
		"/customizations/vscode/extensions",
		"/network/presets", "/network/allow", "/network/deny", "/network/private", "/network/inbound",
		"/workspace/protect", "/secrets", "/envPrefixes", "/instructions":
		return byValue
	}
	return nil
}

func byValue(array *jsonc.Node) ([]string, bool) {
	return keysBy(array, func(e *jsonc.Node) string { return canonical(e) })
}

var target = regexp.MustCompile(`(?:^|,)(?:target|dst|destination)=([^,]*)`)

// byTarget names a mount by where it lies in the container.
func byTarget(array *jsonc.Node) ([]string, bool) {
	return keysBy(array, func(e *jsonc.Node) string {
		if text, ok := e.Member("target").Str(); ok {
			return text
		}
		if m := target.FindStringSubmatch(e.Text); m != nil {
			return m[1]
		}
		return ""
	})
}

// byFlag names an argument of the engine by its flag where the flag may stand
// only once, as --pids-limit, and otherwise by all of it, as --label=a=b. Flags
// with their value in an element of its own have no key, and the list is then
// one value.
func byFlag(array *jsonc.Node) ([]string, bool) {
	return keysBy(array, func(e *jsonc.Node) string {
		flag, _, hasValue := strings.Cut(e.Text, "=")
		switch {
		case e.Kind != jsonc.String || !strings.HasPrefix(flag, "--"):
			return ""
		case !hasValue || slices.Contains(repeatable, flag):
			return e.Text
		}
		return flag
	})
}

// repeatable flags of docker run make lists.
var repeatable = []string{"--add-host", "--annotation", "--attach", "--cap-add", "--cap-drop", "--device", "--dns", "--dns-option",
	"--dns-search",
	"--env", "--env-file", "--expose", "--group-add", "--label", "--label-file", "--link", "--mount", "--network", "--publish",
	"--security-opt", "--storage-opt", "--sysctl", "--tmpfs", "--ulimit", "--volume", "--volumes-from"}

// keysBy names every element; without a name for each, and each name once,
// the list is no set.
func keysBy(array *jsonc.Node, key func(*jsonc.Node) string) ([]string, bool) {
	var keys []string
	if array == nil {
		return nil, true
	}
	for _, e := range array.Elements {
		k := key(e)
		if k == "" || slices.Contains(keys, k) {
			return nil, false
		}
		keys = append(keys, k)
	}
	return keys, true
}

// canonical writes a value without layout and comments, members sorted, so
// that equal values are equal texts.
func canonical(n *jsonc.Node) string {
	var b strings.Builder
	writeCanonical(&b, n)
	return b.String()
}

func writeCanonical(b *strings.Builder, n *jsonc.Node) {
	switch {
	case n == nil:
		b.WriteString("-")
	case n.Kind == jsonc.Object:
		var names []string
		for _, m := range n.Members {
			if !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
		slices.Sort(names)
		b.WriteByte('{')
		for _, name := range names {
			b.WriteString(jsonc.Quote(name) + ":")
			writeCanonical(b, n.Member(name))
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case n.Kind == jsonc.Array:
		b.WriteByte('[')
		for _, e := range n.Elements {
			writeCanonical(b, e)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case n.Kind == jsonc.String:
		b.WriteString(jsonc.Quote(n.Text))
	default:
		b.WriteString(string(n.Kind) + n.Text)
	}
}

func equal(a, b *jsonc.Node) bool { return canonical(a) == canonical(b) }
