package lint

import (
	"reflect"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// tableWith is the table of the rules with one whose correction of init is wrong.
func tableWith(edits func(v *rule.View) []jsonc.Edit) ruleTable {
	return index(Rules(), []rule.Rule{{ID: "SBX399", Severity: diag.SeverityError, Check: func(v *rule.View) []rule.Finding {
		n := v.Root.Member("init")
		if n == nil || n.Text == "false" {
			return nil
		}
		return []rule.Finding{v.AtValue(n, "init is not false", "").FixedBy(edits(v))}
	}}})
}

// removing takes a property out of the configuration.
func removing(v *rule.View, name string) []jsonc.Edit {
	for i, m := range v.Root.Members {
		if m.Name == name {
			return v.Config.RemoveMember(v.Root, i)
		}
	}
	return nil
}

// An attack on fix itself: a rule whose correction changes more than it is about. It is left out and
// said; the corrections beside it are made.
func TestFixLeavesOutWhatChangesSomethingElse(t *testing.T) {
	const src = `{"image": "a:1", "privileged": false, "remoteUser": "dev", "init": true, "overrideCommand": "true", ` +
		`"postCreateCommand": "make"}`
	right := strings.Replace(src, `"true"`, "true", 1)
	for _, c := range []struct {
		name      string
		edits     func(v *rule.View) []jsonc.Edit
		src, want string
		also      []string
	}{
		{"nothing else", func(v *rule.View) []jsonc.Edit { return jsonc.Replace(v.Root.Member("init"), "false") },
			src, strings.Replace(right, `"init": true`, `"init": false`, 1), nil},
		{"the user is dropped", func(v *rule.View) []jsonc.Edit {
			return append(jsonc.Replace(v.Root.Member("init"), "false"), removing(v, "remoteUser")...)
		}, src, right, []string{"remoteUser"}},
		{"a property that another correction is about is dropped", func(v *rule.View) []jsonc.Edit {
			return append(jsonc.Replace(v.Root.Member("init"), "false"), removing(v, "overrideCommand")...)
		}, src, right, []string{"overrideCommand"}},
		{"a hook has another text", func(v *rule.View) []jsonc.Edit {
			return append(jsonc.Replace(v.Root.Member("init"), "false"), jsonc.Replace(v.Root.Member("postCreateCommand"), `"make x"`)...)
		}, src, right, []string{"postCreateCommand", "postCreateCommands"}},
		{"the host is opened", func(v *rule.View) []jsonc.Edit {
			return append(jsonc.Replace(v.Root.Member("init"), "false"), jsonc.Replace(v.Root.Member("privileged"), "true")...)
		}, src, right, []string{"privileged"}},
		{"the text does not parse", func(v *rule.View) []jsonc.Edit { return jsonc.Replace(v.Root.Member("init"), "{") }, src, right,
			[]string{"containerEnv", "image", "onCreateCommands", "overrideCommand", "portsAttributes", "postAttachCommands",
				"postCreateCommand", "postCreateCommands", "postStartCommands", "privileged", "remoteEnv", "remoteUser",
				"updateContentCommands"}},
		{"there is no image, so that nothing is merged", func(v *rule.View) []jsonc.Edit {
			return append(jsonc.Replace(v.Root.Member("init"), "false"), removing(v, "remoteUser")...)
		}, `{"init": true, "remoteUser": "dev"}`, `{"init": true, "remoteUser": "dev"}`, []string{"remoteUser"}},
	} {
		rules := tableWith(c.edits)
		p := devcontainer.Parse("devcontainer.json", []byte(c.src))
		got, fixed, left := fixWith(rules, p, nil, nil)
		if string(got) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if c.also == nil {
			if len(left) > 0 || len(fixed) != 2 {
				t.Errorf("%s: fixed %v, left %v", c.name, fixed, left)
			}
			continue
		}
		if len(left) != 1 || left[0].Rule != "SBX399" || !reflect.DeepEqual(left[0].Also, c.also) {
			t.Errorf("%s: left %+v, want %q", c.name, left, c.also)
		}
	}
}

// Two corrections that are right by themselves and together change something else are not made together.
func TestFixComparesCorrectionsTogether(t *testing.T) {
	rules := tableWith(func(v *rule.View) []jsonc.Edit { return jsonc.Replace(v.Root.Member("init"), "false") })
	x := newComparer(rules, devcontainer.Parse("devcontainer.json", []byte(`{"image": "a:1", "init": true, "name": "x"}`)), nil)
	at := func(pointer string, edits []jsonc.Edit) report {
		return report{Finding: diag.Finding{Rule: "SBX399", Pointer: pointer}, edits: edits}
	}
	root := x.project.Config.Root
	both := []report{at("/init", jsonc.Replace(root.Member("init"), "false")), at("/init", jsonc.Replace(root.Member("name"), `"y"`))}
	out, made := x.applied(both)
	if want := `{"image": "a:1", "init": false, "name": "x"}`; string(out) != want || len(made) != 1 {
		t.Errorf("%s, %d made", out, len(made))
	}
}

// The work for a hostile file is bounded; what nobody compared is not made, and said.
func TestFixComparesNoEndlessNumber(t *testing.T) {
	src := `{"image": "a:1", "runArgs": [` + strings.Repeat(`"x",`, 10) + `"x"], "mounts": [` +
		strings.Repeat(`{"type": "volume", "source": "a", "target": "/x", "readonly": true},`, maxComparisons+40) + `{}]}`
	_, fixed, left := Fix(devcontainer.Parse("devcontainer.json", []byte(src)), []string{"SBX302"}, nil)
	if len(fixed) > maxComparisons || len(fixed)+len(left) <= maxComparisons {
		t.Errorf("%d fixed, %d left", len(fixed), len(left))
	}
	for _, l := range left {
		if len(l.Also) > 0 {
			t.Fatalf("%+v", l)
		}
	}
}
