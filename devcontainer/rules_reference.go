package devcontainer

import (
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// referenceRules are facts about the reference dev container CLI, measured with
// the version that tests run.
var referenceRules = []Rule{
	{ID: "SBX301", Name: "text-boolean", Severity: diag.SeverityError, Title: "text where true or false is meant",
		Reason: "The reference CLI takes every text that is not empty for true: \"privileged\": \"false\" starts a privileged container.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"init\": \"false\"\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"init\": false\n}"},
	{ID: "SBX302", Name: "object-mount-readonly", Severity: diag.SeverityError, Title: "readonly of an object mount is lost",
		Reason: "The reference CLI copies only type, source and target of a mount that is written as an object. What looks protected is writable.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"mounts\": [{\"type\": \"bind\", \"source\": \"${localWorkspaceFolder}/data\", \"target\": \"/data\", \"readonly\": true}]\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"mounts\": [\"type=bind,source=${localWorkspaceFolder}/data,target=/data,readonly\"]\n}",
		check:  (*pass).objectMounts},
}

func (c *pass) objectMounts() {
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
