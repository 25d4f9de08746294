package lint_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
)

// Every rule that promises a fix keeps the promise on its own example, and no
// other rule has one.
func TestEveryFixMendsItsExample(t *testing.T) {
	for _, r := range lint.Rules() {
		t.Run(r.ID, func(t *testing.T) {
			files := devcontainer.Memory(r.Bad.Files())
			p, err := devcontainer.Load(files, ".devcontainer/devcontainer.json", ".devcontainer/devcontainer.json")
			if err != nil {
				if r.Fix != "" {
					t.Error(err)
				}
				return // a template's files, which hold no configuration
			}
			src, fixed, _ := lint.Fix(p, []string{r.ID}, nil)
			if r.Fix == "" {
				if len(fixed) > 0 {
					t.Errorf("mended, and the table does not say so: %s", src)
				}
				return
			}
			files[".devcontainer/devcontainer.json"] = string(src)
			for _, f := range judge(t, files) {
				if f.Rule == r.ID || f.Severity != diag.SeverityNote {
					t.Errorf("after the fix: %v in\n%s", f, src)
				}
			}
		})
	}
}

func TestFixKeepsWhatItIsNotAbout(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"booleans", "{\n  // why\n  \"image\": \"a:1\",\n  \"privileged\": \"false\", // no\n  \"init\": \"true\"\n}\n",
			"{\n  // why\n  \"image\": \"a:1\",\n  \"privileged\": false, // no\n  \"init\": true\n}\n"},
		{"line ends and mark", "\ufeff{\r\n\t\"image\": \"a:1\",\r\n\t\"remoteuser\": \"x\"\r\n}\r\n",
			"\ufeff{\r\n\t\"image\": \"a:1\",\r\n\t\"remoteUser\": \"x\"\r\n}\r\n"},
		{"a note", "{\"image\": \"a:1\", \"name\": \"${env:X}\",}", "{\"image\": \"a:1\", \"name\": \"${env:X}\",}"},
		{"legacy, all at once",
			"{\n  \"image\": \"a:1\",\n  // mine\n  \"extensions\": [\n    \"a.b\" // one\n  ],\n  \"settings\": {\n    \"x\": 1\n  }\n}\n",
			"{\n  \"image\": \"a:1\",\n  // mine\n  \"customizations\": {\"vscode\": {\"extensions\": [\n    \"a.b\" // one\n" +
				"  ], \"settings\": {\n    \"x\": 1\n  }}}\n}\n"},
		{"legacy into what is there",
			"{\n  \"image\": \"a:1\",\n  \"extensions\": [\n    \"a.b\"\n  ],\n  \"customizations\": {\n    \"vscode\": {\n" +
				"      \"settings\": {}\n    }\n  }\n}\n",
			"{\n  \"image\": \"a:1\",\n  \"customizations\": {\n    \"vscode\": {\n      \"settings\": {},\n      \"extensions\": [\n" +
				"        \"a.b\"\n      ]\n    }\n  }\n}\n"},
		{"taken already", "{\"image\": \"a:1\", \"extensions\": [\"a.b\"], \"customizations\": {\"vscode\": {\"extensions\": []}}}",
			"{\"image\": \"a:1\", \"extensions\": [\"a.b\"], \"customizations\": {\"vscode\": {\"extensions\": []}}}"},
		{"nothing that opens the host", "{\"image\": \"a:1\", \"Privileged\": true, \"run_args\": []}",
			"{\"image\": \"a:1\", \"Privileged\": true, \"run_args\": []}"},
		{"both spellings", "{\"image\": \"a:1\", \"remoteuser\": \"x\", \"remoteUser\": \"y\"}",
			"{\"image\": \"a:1\", \"remoteuser\": \"x\", \"remoteUser\": \"y\"}"},
		{"mount with a comma", `{"image": "a:1", "mounts": [{"type": "volume", "source": "a,b", "target": "/x", "readonly": true}]}`,
			`{"image": "a:1", "mounts": [{"type": "volume", "source": "a,b", "target": "/x", "readonly": true}]}`},
		{"suppressed", "{\"image\": \"a:1\", // sbx-ignore SBX601: x\n\"init\": \"true\" // sbx-ignore SBX301: known\n}",
			"{\"image\": \"a:1\", // sbx-ignore SBX601: x\n\"init\": \"true\" // sbx-ignore SBX301: known\n}"},
		{"not well formed", `{"image": "a:1" "init": "true"}`, `{"image": "a:1" "init": "true"}`},
		{"names without quotes", `{image: "a:1", init: "true"}`, `{"image": "a:1", "init": true}`},
		{"a name that nobody quotes for you", `{image: "a:1", privileged: true}`, `{image: "a:1", privileged: true}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, _ := lint.Fix(devcontainer.Parse("f", []byte(tt.src)), nil, nil)
			if string(got) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// A comment within what a correction replaces or moves stays: the correction is left out, and says why.
func TestFixTakesOutNoComment(t *testing.T) {
	for _, tt := range []struct {
		rule, src string
		comments  int // 0 = it is made
	}{
		{"SBX302", "{\"image\": \"a:1\", \"mounts\": [\n  {\n    // secrets\n    \"type\": \"volume\", // a\n    \"source\": \"v\",\n" +
			"    \"target\": \"/v\", \"readonly\": true\n    /* b */}\n]}", 3},
		{"SBX302", `{"image": "a:1", "mounts": [{"type": "volume", "source": "v", "target": "/v", "readonly": true} /* c */ // d` + "\n]}", 0},
		{"SBX314", `{"image": "a:1", "postCreateCommand": [ /* a */ "npm ci && npm test" ]}`, 1},
		{"SBX314", "{\"image\": \"a:1\", \"postCreateCommand\": [\"npm ci && npm test\"] // a\n}", 0},
		{"SBX207", `{"image": "a:1", "settings": {"x": 1}, "extensions" /* a */ : ["a.b"], "customizations": {"vscode": {}}}`, 1},
		{"SBX207", "{\"image\": \"a:1\", \"extensions\": [\n    \"a.b\", // a\n    /* b\n       c */\n    \"c.d\"\n  ], " +
			"\"customizations\": {\n    \"vscode\": {\n      \"settings\": {}\n    }\n  }\n}\n", 0},
		{"SBX108", "{\"image\": \"a:1\" // sbx-ignore SBX402: x\n}", 0}, // the comment is the finding
	} {
		p := devcontainer.Parse("f", []byte(tt.src))
		src, _, left := lint.Fix(p, []string{tt.rule}, nil)
		if tt.comments == 0 {
			if len(left) > 0 || string(src) == tt.src {
				t.Errorf("%s: not made, %v, in %s", tt.rule, left, src)
			}
			continue
		}
		if len(left) != 1 || left[0].Comments != tt.comments || strings.Count(string(src), "/") != strings.Count(tt.src, "/") {
			t.Errorf("%s: left %+v and wrote %s", tt.rule, left, src)
		}
		proposals := lint.Proposals(p, []string{tt.rule}, nil)
		for _, of := range proposals {
			if of.Comments == tt.comments && !of.Safe {
				return
			}
		}
		t.Errorf("%s: nothing that says what it costs is offered: %+v", tt.rule, proposals)
	}
}

// What only a person can want is offered with what it costs.
func TestOfferThatTakesOutAComment(t *testing.T) {
	p := devcontainer.Parse("f", []byte(`{"image": "a:1", "postCreateCommand": ["npm ci", /* tests */ "npm test"]}`))
	if offers := lint.Proposals(p, []string{"SBX314"}, nil); len(offers) != 1 || offers[0].Text() != "take out a comment" {
		t.Errorf("%+v", offers)
	}
}

// A correction that is right by itself and makes the container worse is left out; one beside it is made.
func TestFixBringsNoError(t *testing.T) {
	for _, tt := range []struct{ src, want, brings string }{
		{`{"image": "node:20", "overrideCommand": "false", "init": "true"}`,
			`{"image": "node:20", "overrideCommand": "false", "init": true}`, "SBX326"},
		{`{"image": "a:1", "runArgs": ["--network host", "-p 1:1"]}`, `{"image": "a:1", "runArgs": ["--network host", "-p", "1:1"]}`, "SBX404"},
		// Another error of the rule, of another place, changes nothing.
		{`{"image": "a:1", "runArgs": ["--pid=host", "--network host"]}`, `{"image": "a:1", "runArgs": ["--pid=host", "--network host"]}`,
			"SBX404"},
	} {
		p := devcontainer.Parse("f", []byte(tt.src))
		src, _, left := lint.Fix(p, nil, nil)
		if string(src) != tt.want {
			t.Errorf("got %s\nwant %s", src, tt.want)
		}
		if len(left) != 1 || len(left[0].Brings) != 1 || left[0].Brings[0].Rule != tt.brings {
			t.Errorf("%s: left %+v", tt.src, left)
		}
		// A rule that does not count for the project is no reason.
		silent := func(f diag.Finding, _ bool) (diag.Finding, bool) { return f, f.Rule != tt.brings }
		if _, _, left := lint.Fix(p, nil, silent); len(left) > 0 {
			t.Errorf("%s: left %+v", tt.src, left)
		}
	}
}

// Notes are advice: fix follows one only when its rule is named.
func TestFixFollowsNotesOnlyByName(t *testing.T) {
	src := []byte("{\"image\": \"a:1\", \"name\": \"${env:X}\", \"init\": \"true\",}")
	got, _, _ := lint.Fix(devcontainer.Parse("f", src), nil, nil)
	if want := "{\"image\": \"a:1\", \"name\": \"${env:X}\", \"init\": true,}"; string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	got, _, _ = lint.Fix(devcontainer.Parse("f", src), []string{"SBX307"}, nil)
	if want := "{\"image\": \"a:1\", \"name\": \"${localEnv:X}\", \"init\": \"true\",}"; string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// The parts that a fix may change: members of the root that a rule with a fix is about.
var touchable = []string{"overrideCommand", "waitFor", "capAdd", "securityOpt", "mounts", "workspaceFolder", "customizations", "extensions",
	"settings", "devPort", "remoteEnv",
	"runArgs"}

// Whatever the file says: the result parses, a second fix changes nothing, no
// finding appears that was not there, and what no fix is about keeps its value.
func FuzzFix(f *testing.F) {
	for _, r := range lint.Rules() {
		if text := r.Bad.Files()[".devcontainer/devcontainer.json"]; text != "" {
			f.Add([]byte(text))
		}
	}
	f.Add(
		[]byte("{\"image\": \"a:1\", \"extensions\": [], \"settings\": {}, \"devPort\": 1,\r\n /* sbx-ignore SBX402: x */ \"init\": \"true\",}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		p := devcontainer.Parse("f", src)
		got, fixed, _ := lint.Fix(p, nil, nil)
		if len(fixed) == 0 {
			if string(got) != string(src) {
				t.Fatalf("changed without a finding: %q", got)
			}
			return
		}
		after := devcontainer.Parse("f", got)
		if after.Config.Root == nil {
			t.Fatalf("%q became %q, which does not parse", src, got)
		}
		if again, _, _ := lint.Fix(after, nil, nil); string(again) != string(got) {
			t.Fatalf("%q became %q and then %q", src, got, again)
		}
		if p.Config.Root == nil {
			return // what a file says that does not parse is anybody's guess
		}
		before, now := members(t, src), members(t, got)
		for name, value := range before {
			if changes(name, value) || renamed(name, now) {
				continue
			}
			if !reflect.DeepEqual(value, now[name]) {
				t.Fatalf("%q: %s was %v and is %v in %q", src, name, value, now[name], got)
			}
		}
	})
}

// changes reports whether a fix may be about this member.
func changes(name string, value any) bool {
	for _, known := range touchable {
		if strings.EqualFold(strings.NewReplacer("-", "", "_", "").Replace(name), known) {
			return true
		}
	}
	text, _ := json.Marshal(map[string]any{name: value})
	return strings.Contains(string(text), "${env:") || strings.Contains(string(text), `"true"`) || strings.Contains(string(text), `"false"`) ||
		isArray(value) && strings.HasSuffix(name, "Command") || isObject(value)
}

func isArray(v any) bool  { _, ok := v.([]any); return ok }
func isObject(v any) bool { _, ok := v.(map[string]any); return ok }

// renamed reports whether a name was written right.
func renamed(name string, now map[string]any) bool {
	fold := strings.NewReplacer("-", "", "_", "")
	for other := range now {
		if other != name && strings.EqualFold(fold.Replace(other), fold.Replace(name)) {
			return true
		}
	}
	return false
}

func members(t *testing.T, src []byte) map[string]any {
	t.Helper()
	std, err := hujson.Standardize([]byte(strings.TrimPrefix(string(src), "\ufeff") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(std, &v); err != nil {
		t.Skip(err)
	}
	return v
}
