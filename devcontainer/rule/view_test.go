package rule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
)

const configPath = ".devcontainer/devcontainer.json"

// view is that of a tree; files are names and texts below .devcontainer.
func view(t *testing.T, config string, files ...string) *View {
	t.Helper()
	tree := devcontainer.Memory{configPath: config}
	for pair := range slices.Chunk(files, 2) {
		tree[".devcontainer/"+pair[0]] = pair[1]
	}
	p, err := devcontainer.Load(tree, configPath, configPath)
	if err != nil {
		t.Fatal(err)
	}
	return NewView(p)
}

const composed = `{"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/w"`

// The user of the first process is the last one that the engine is told of, and a session
// has it where nothing else is named.
func TestUsers(t *testing.T) {
	for _, c := range []struct {
		v              *View
		start, session string
	}{
		{view(t, `{"image": "debian:13"}`), "", ""},
		{view(t, `{"image": "debian:13", "containerUser": "dev"}`), "dev", "dev"},
		{view(t, `{"image": "debian:13", "containerUser": "dev", "remoteUser": "me"}`), "dev", "me"},
		{view(t, `{"image": "debian:13", "containerUser": "dev", "runArgs": ["-u", "root"]}`), "root", "root"},
		{view(t, `{"image": "debian:13", "runArgs": ["-u", "${localEnv:USER}"]}`), "", ""},
		{view(t, `{"build": {"dockerfile": "D"}}`, "D", "FROM debian:13\nUSER one\nUSER two:three\n"), "two", "two"},
		{view(t, `{"build": {"dockerfile": "D"}}`, "D", "FROM scratch\nCOPY a /\n"), "root", "root"},
		{view(t, `{"build": {"dockerfile": "D"}}`, "D",
			"FROM x\nUSER dev\nLABEL devcontainer.metadata='[{\"remoteUser\": \"root\", \"containerUser\": \"me\"}]'\n"), "dev", "root"},
		{view(t, `{"image": "x", "remoteUser": "dev", "runArgs": ["--label", "devcontainer.metadata={\"remoteUser\": \"root\"}"]}`), "", "dev"},
		{view(t, `{"image": "x", "runArgs": ["--label", "devcontainer.metadata={\"remoteUser\": \"root\"}"]}`), "", "root"},
		{view(t, `{"image": "x", "containerUser": "root", "runArgs": ["--label", "devcontainer.metadata={\"remoteUser\": \"dev\"}"]}`), "root",
			"root"},
		{view(t, `{"image": "x", "runArgs": ["--label", "devcontainer.metadata={\"remoteUser\": \"dev\"}"]}`), "", ""},
		{view(t, composed+`}`, "c.yaml", "services:\n  a: {image: x, user: mine}\n  b: {image: x, user: other}\n"), "mine", "mine"},
	} {
		start, known := c.v.StartUser()
		session, _ := c.v.SessionUser()
		if start.Value != c.start || known != (c.start != "") || session != c.session {
			t.Errorf("%s: got %q and %q", c.v.Config.Src, start.Value, session)
		}
	}
	for user, root := range map[string]bool{"root": true, "0": true, "0:0": true, "root:dev": true, "dev": false,
		"1000": false, "rooty": false} {
		if IsRoot(user) != root {
			t.Errorf("%q is root: %v", user, !root)
		}
	}
}

// The last command that the engine is told of starts, and a new entrypoint has no command
// of the one that it replaces.
func TestStart(t *testing.T) {
	const file = "FROM x\nENTRYPOINT [\"old\"]\nCMD old\nENTRYPOINT [\"e\"]\nCMD [\"c\", \"d\"]\n"
	built := func(service string) *View {
		return view(t, composed+`}`, "c.yaml", "services:\n  a: {build: ., "+service+"}\n  b: {image: x, entrypoint: other}\n",
			"Dockerfile", file)
	}
	for _, c := range []struct {
		v    *View
		want string
	}{
		{view(t, `{"image": "x"}`), "[] []"},
		{view(t, `{"build": {"dockerfile": "D"}}`, "D", file), "[e] [c d]"},
		{view(t, `{"build": {"dockerfile": "D"}}`, "D", "FROM x\nENTRYPOINT a $B\n"), "[/bin/sh -c a $B] []"},
		{view(t, `{"build": {"dockerfile": "D"}, "runArgs": ["--entrypoint", "a", "--entrypoint=b"]}`, "D", file), "[b] []"},
		{built("command: 'f \"g h\"'"), "[e] [f g h]"},
		{built("entrypoint: i"), "[i] []"},
		{built("entrypoint: [i], command: [k]"), "[i] [k]"},
		{built("entrypoint: null"), "[e] [c d]"},
	} {
		entrypoint, command := c.v.Start()
		if got := fmt.Sprint(entrypoint.Words, " ", command.Words); got != c.want {
			t.Errorf("%s: got %s, want %s", c.v.Config.Src, got, c.want)
		}
	}
}

// The marks of a sandbox of ours, and of an agent's container.
func TestSandboxedAndAgent(t *testing.T) {
	for _, c := range []struct {
		v              *View
		sandbox, agent bool
	}{
		{view(t, `{"image": "debian:13"}`), false, false},
		{view(t, `{"image": "debian:13"}`, "sandbox.jsonc", "{}"), true, false},
		{view(t, `{"image": "debian:13", "postStartCommand": "sudo init-firewall.sh"}`), true, false},
		{view(t, `{"image": "debian:13", "postStartCommand": "sudo reinit-firewalls.sh"}`), false, false},
		{view(t, `{"build": {"dockerfile": "D"}}`, "D", "FROM x\nRUN npm i -g @anthropic-ai/claude-code\n"), false, true},
		{view(t, `{"image": "debian:13", "features": {"ghcr.io/x/y/firewall:1": {}, "ghcr.io/a/b/claude-code:1": {}}}`), true, true},
		{view(t, `{"image": "debian:13", "features": {"./mine": {}}}`, "mine/devcontainer-feature.json",
			`{"id": "mine", "entrypoint": "/usr/local/share/sbx/start"}`), true, false},
		{view(t, composed+`}`, "c.yaml", "services:\n  a: {image: x, entrypoint: [sbx-init, run]}\n"), true, false},
	} {
		if c.v.Sandboxed() != c.sandbox || c.v.Agent() != c.agent {
			t.Errorf("%s: sandbox %v, agent %v", c.v.Config.Src, c.v.Sandboxed(), c.v.Agent())
		}
	}
}

// Every form of a lifecycle command, of everybody who brings one, each command at its
// place: a label's at the label.
func TestEachHookCommand(t *testing.T) {
	v := view(t, `{"build": {"dockerfile": "D"}, "features": {"./tool": {}}, "initializeCommand": "on the host",
  "onCreateCommand": "one && two x", "postCreateCommand": ["three", "a b"], "postStartCommand": {"a": "four", "b": ["five"]}}`,
		"D", "FROM x\n\nLABEL devcontainer.metadata='[{\"postAttachCommand\": \"seven\"}]'\n",
		"tool/devcontainer-feature.json", "{\"id\": \"tool\",\n\"postStartCommand\": \"six\"}")
	var got []string
	v.EachHookCommand(func(hook rights.Right, cmd *shell.Command) {
		line, column := hook.Place.Doc.Position(hook.Place.Start)
		got = append(got,
			fmt.Sprintf("%s %s %s:%d:%d", hook.Key, cmd.Name(), strings.TrimPrefix(hook.Place.Doc.File, ".devcontainer/"), line, column))
	})
	want := []string{"onCreateCommand one devcontainer.json:2:22", "onCreateCommand two devcontainer.json:2:22",
		"postCreateCommand three devcontainer.json:2:59", "postStartCommand four devcontainer.json:2:103",
		"postStartCommand five devcontainer.json:2:116",
		"postStartCommand six tool/devcontainer-feature.json:2:21", "postAttachCommand seven D:3:1"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	text := ""
	v.EachHookText(func(s string) { text += s + ";" })
	if text != "one && two x;three;a b;four;five;six;seven;" {
		t.Errorf("texts %q", text)
	}
}

// A finding about a Feature's right stands at the Feature's name and names it.
func TestPolicyFinding(t *testing.T) {
	v := view(t, `{"image": "debian:13", "capAdd": ["A"], "features": {"./tool": {}}}`, "tool/devcontainer-feature.json",
		`{"id": "tool", "capAdd": ["B"]}`)
	var got []string
	for _, r := range v.Of(rights.Capability) {
		f := v.PolicyFinding(r, "adds "+r.Value, "")
		got = append(got, string(f.Place.Doc.Src[f.Place.Start:f.Place.End])+": "+f.Message)
	}
	if want := []string{`"A": adds A`, `"./tool": by the Feature ./tool, adds B`}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// Edits keep what is there.
func TestEdits(t *testing.T) {
	for _, c := range []struct {
		config string
		edits  func(*View) []jsonc.Edit
		want   string
	}{
		{`{"a": 1}`, func(v *View) []jsonc.Edit { return v.Setting("a", "2") }, `{"a": 2}`},
		{"{\n  \"a\": 1 // why\n}", func(v *View) []jsonc.Edit { return v.Setting("b", "2") }, "{\n  \"a\": 1, // why\n  \"b\": 2\n}"},
		{"{\n  \"l\": [\"x\"]\n}", func(v *View) []jsonc.Edit { return v.Listing("l", "y") }, "{\n  \"l\": [\"x\", \"y\"]\n}"},
		{"{\n  \"a\": 1\n}", func(v *View) []jsonc.Edit { return v.Listing("l", "y") }, "{\n  \"a\": 1,\n  \"l\": [\"y\"]\n}"},
		{`{"l": "x"}`, func(v *View) []jsonc.Edit { return v.Listing("l", "y") }, `{"l": "x"}`},
	} {
		v := view(t, c.config)
		if got, _ := jsonc.Apply(v.Config.Src, c.edits(v)); string(got) != c.want {
			t.Errorf("%s: got %s, want %s", c.config, got, c.want)
		}
	}
}

// A context may be named by the service or by an option of docker build.
func TestBuildContext(t *testing.T) {
	for _, v := range []*View{
		view(t, `{"build": {"dockerfile": "D", "options": ["--build-context", "more=../x"]}}`, "D", "FROM x\n"),
		view(t, composed+`}`, "c.yaml", "services:\n  a: {build: {context: ., additional_contexts: {more: ../x}}}\n", "Dockerfile", "FROM x\n"),
	} {
		if !v.BuildContext("more") || v.BuildContext("mor") {
			t.Errorf("%s: more %v, mor %v", v.Config.Src, v.BuildContext("more"), v.BuildContext("mor"))
		}
	}
}
