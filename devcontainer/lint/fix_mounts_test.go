package lint_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
)

// The mounts that fix adds protect .devcontainer and git, once, and change
// nothing else; where a mount could keep a container from starting, fix adds nothing.
func TestFixMountsWhatActsOnTheHost(t *testing.T) {
	const (
		sound  = `"overrideCommand": false, "remoteUser": "agent", "capAdd": ["NET_ADMIN"], "securityOpt": ["no-new-privileges"]`
		folder = `"type=bind,source=${localWorkspaceFolder}/.devcontainer,target=${containerWorkspaceFolder}/.devcontainer,readonly"`
		git    = `"type=bind,source=${localWorkspaceFolder}/.git,target=${containerWorkspaceFolder}/.git"`
		hooks  = `"type=bind,source=${localWorkspaceFolder}/.git/hooks,target=${containerWorkspaceFolder}/.git/hooks,readonly"`
		config = `"type=bind,source=${localWorkspaceFolder}/.git/config,target=${containerWorkspaceFolder}/.git/config,readonly"`
	)
	clone := devcontainer.Memory{".git/config": "", ".git/hooks/x": "", ".devcontainer/sandbox.jsonc": "{}"}
	for _, c := range []struct {
		name, config string
		lacks        string // of the clone
		left         string // rules that are left
		added        []string
	}{
		{"no mounts", "{\n  \"image\": \"a:1\", // why\n  " + sound + "\n}\n", "", "", []string{folder, git, hooks, config}},
		{"in one line", `{"image": "a:1", ` + sound + `, "mounts": ["type=volume,source=v,target=/v"]}`, "", "",
			[]string{folder, git, hooks, config}},
		{"over lines, with a comment",
			"{\n  \"image\": \"a:1\",\n  " + sound + ",\n  \"mounts\": [\n    \"type=volume,source=v,target=/v\" // cache\n  ]\n}\n", "", "",
			[]string{folder, git, hooks, config}},
		{"a part is there", `{"image": "a:1", ` + sound + `, "mounts": [` + folder + `, ` + git + `, ` + hooks + `]}`, "", "", []string{config}},
		{"git can be renamed", `{"image": "a:1", ` + sound + `, "mounts": [` + folder + `, ` + hooks + `, ` + config + `]}`, "", "",
			[]string{git}},
		{"a clone without hooks", `{"image": "a:1", ` + sound + `}`, ".git/hooks/x", "SBX807", []string{folder}},
		{"something else is there", `{"image": "a:1", ` + sound + `, "mounts": [` + strings.Replace(folder, ",readonly", "", 1) + `, ` + git +
			`, ` + hooks + `, ` + config + `]}`, "", "SBX806", nil},
		{"a mount of the workspace of its own",
			`{"image": "a:1", ` + sound + `, "workspaceMount": "type=bind,source=${localWorkspaceFolder},target=/w", "workspaceFolder": "/w"}`, "",
			"", []string{folder, git, hooks, config}},
		{"the workspace is a part of the mount",
			`{"image": "a:1", ` + sound + `, "workspaceMount": "type=bind,source=${localWorkspaceFolder},target=/w", "workspaceFolder": "/w/sub"}`,
			"", "SBX806 SBX807", nil},
		{"mounts is no list", `{"image": "a:1", ` + sound + `, "mounts": "x"}`, "", "SBX202", nil},
		{"Compose", `{"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/w", "remoteUser": "agent"}`, "",
			"SBX801 SBX806 SBX807 SBX805", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := devcontainer.Memory{".devcontainer/c.yaml": "services: {a: {image: 'a:1', volumes: ['..:/w']}}\n"}
			for name, text := range clone {
				if name != c.lacks {
					tree[name] = text
				}
			}
			rules := []string{"SBX806", "SBX807"}
			fix := func(src string) string {
				tree[".devcontainer/devcontainer.json"] = src
				p, err := devcontainer.Load(tree, ".devcontainer/devcontainer.json", ".devcontainer/devcontainer.json")
				if err != nil {
					t.Fatal(err)
				}
				out, _, _ := lint.Fix(p, rules, nil)
				return string(out)
			}
			once := fix(c.config)
			if twice := fix(once); twice != once {
				t.Errorf("mending again changes\n%s\nto\n%s", once, twice)
			}
			if got := ids(t, tree); got != c.left {
				t.Errorf("left: %q, want %q in\n%s", got, c.left, once)
			}
			if len(c.added) == 0 && once != c.config {
				t.Errorf("changed to\n%s", once)
			}
			for _, line := range c.added {
				if strings.Count(once, line) != 1 {
					t.Errorf("%s is not there once:\n%s", line, once)
				}
			}
			for _, comment := range []string{"// why", "// cache"} {
				if strings.Contains(c.config, comment) && !strings.Contains(once, comment) {
					t.Errorf("%s is gone:\n%s", comment, once)
				}
			}
			before, after := members(t, []byte(c.config)), members(t, []byte(once))
			delete(before, "mounts")
			delete(after, "mounts")
			if !reflect.DeepEqual(before, after) {
				t.Errorf("other properties changed:\n%s", once)
			}
		})
	}
}

// Mending once is mending: for every rule, on its own bad example.
func TestFixOfFixIsFix(t *testing.T) {
	for _, r := range lint.Rules() {
		files := devcontainer.Memory(r.Bad.Files())
		const name = ".devcontainer/devcontainer.json"
		if _, ok := files[name]; !ok {
			continue
		}
		fix := func() string {
			p, err := devcontainer.Load(files, name, name)
			if err != nil {
				t.Fatal(err)
			}
			out, _, _ := lint.Fix(p, nil, nil)
			return string(out)
		}
		files[name] = fix()
		if again := fix(); again != files[name] {
			t.Errorf("%s: mending again changes\n%s\nto\n%s", r.ID, files[name], again)
		}
	}
}
