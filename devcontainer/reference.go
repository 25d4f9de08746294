package devcontainer

import "github.com/org/claude-sandbox/internal/jsonc"

// reference reports what the reference dev container CLI turns into something
// else than what is written (measured with @devcontainers/cli 0.89).
func (c *checker) reference() {
	for _, n := range elements(c.root.Member("mounts")) {
		if n.Kind != jsonc.Object {
			continue
		}
		for _, m := range n.Members {
			if m.Name == "readonly" || m.Name == "ro" {
				c.name(m, "SBX302", "readonly is dropped from the object form: this mount is writable", `write the mount as text: "type=bind,source=…,target=…,readonly"`)
			}
		}
	}
}

// truthy reports whether the reference CLI, written in JavaScript, takes n for
// true.
func truthy(n *jsonc.Node) bool {
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
	case jsonc.Null:
		return false
	}
	return true
}
