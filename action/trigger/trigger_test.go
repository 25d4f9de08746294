package trigger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	own  = `"repository":{"full_name":"o/r"}`
	fork = `"pull_request":{"title":"t","labels":[{"name":"ai"}],"head":{"repo":{"full_name":"x/r"}}}`
	same = `"pull_request":{"title":"t","head":{"repo":{"full_name":"o/r"}}}`
)

// event reads an event with a payload; actor caused it.
func event(t *testing.T, name, actor, payload string) (Event, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(file, []byte(payload), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": file, "GITHUB_ACTOR": actor, "GITHUB_REPOSITORY": "o/r"}
	return Read(func(name string) string { return env[name] })
}

// permissions of ann, who may write, bob, who may read, and others, whom GitHub does not know.
func permissions(user string) (string, error) {
	switch user {
	case "ann":
		return "write", nil
	case "bob":
		return "read", nil
	case "down":
		return "", errors.New("GitHub answers 500")
	}
	return "none", nil
}

func TestWhoMayStart(t *testing.T) {
	comment := func(by, text string) string {
		return fmt.Sprintf(`{%s,"sender":{"login":%q},"issue":{"title":"t","labels":[{"name":"ai"}]},"comment":{"body":%q}}`, own, by, text)
	}
	run := func(by, again, head string) string {
		return fmt.Sprintf(
			`{%s,"sender":{"login":"ann"},"workflow_run":{"actor":{"login":%q},"triggering_actor":{"login":%q},"head_repository":{"full_name":%q}}}`,
			own, by, again, head)
	}
	for title, tc := range map[string]struct {
		name, actor, payload string
		rules                Rules
		want                 Verdict
		why                  string
	}{
		"push":                   {"push", "bob", "", Rules{}, Run, ""},
		"schedule":               {"schedule", "bob", "", Rules{}, Run, ""},
		"pull request":           {"pull_request", "bob", "{" + own + "," + same + "}", Rules{}, Run, ""},
		"pull request of a fork": {"pull_request", "bob", "{" + own + "," + fork + "}", Rules{}, Refuse, "no write access"},
		"fork, by a writer":      {"pull_request", "ann", "{" + own + "," + fork + "}", Rules{}, Run, ""},
		"a fork that is gone": {"pull_request", "bob", "{" + own + `,"pull_request":{"head":{"repo":null}}}`, Rules{},
			Refuse, "no write access"},
		"target": {"pull_request_target", "ann", "{" + own + "," + same + "}", Rules{}, Refuse, "pull_request_target"},
		"target, allowed, a stranger": {"pull_request_target", "bob", "{" + own + "," + fork + "}", Rules{AllowTarget: true},
			Refuse, "no write access"},
		"target, allowed, a writer": {"pull_request_target", "ann", "{" + own + "," + fork + "}", Rules{AllowTarget: true}, Run, ""},
		"comment of a writer":       {"issue_comment", "ann", comment("ann", "do it"), Rules{}, Run, ""},
		"comment of a reader":       {"issue_comment", "bob", comment("bob", "do it"), Rules{}, Refuse, "no write access"},
		"comment of a stranger":     {"issue_comment", "eve", comment("eve", "do it"), Rules{}, Refuse, `"none"`},
		"run again by a writer":     {"issue_comment", "ann", comment("eve", "do it"), Rules{}, Refuse, "eve"},
		"named":                     {"issue_comment", "Eve", comment("Eve", "do it"), Rules{Actors: []string{"eve"}}, Run, ""},
		"a bot":                     {"issue_comment", "x[bot]", comment("x[bot]", "do it"), Rules{}, Refuse, "the bot x[bot]"},
		"a bot by name":             {"issue_comment", "x[bot]", comment("x[bot]", "do it"), Rules{Actors: []string{"x[bot]"}}, Run, ""},
		"every bot": {"issue_comment", "x[bot]", comment("x[bot]", "do it"),
			Rules{Actors: []string{"*", "[bot]"}}, Refuse, "the bot"},
		"GitHub does not answer": {"issue_comment", "down", comment("down", "do it"), Rules{}, Refuse, "500"},
		"no phrase":              {"issue_comment", "ann", comment("ann", "do it"), Rules{Phrase: "@claude"}, Skip, "trigger_phrase"},
		"phrase":                 {"issue_comment", "ann", comment("ann", "hi @Claude, do it"), Rules{Phrase: "@claude"}, Run, ""},
		"phrase in a word": {"issue_comment", "ann", comment("ann", "x@claude-bot me@claude"), Rules{Phrase: "@claude"},
			Skip, "trigger_phrase"},
		"phrase of a stranger":    {"issue_comment", "eve", comment("eve", "@claude"), Rules{Phrase: "@claude"}, Refuse, "no write access"},
		"label":                   {"issue_comment", "ann", comment("ann", "do it"), Rules{Label: "ai"}, Run, ""},
		"no label":                {"issue_comment", "ann", comment("ann", "do it"), Rules{Label: "agent"}, Skip, "required_label"},
		"a run of a writer's":     {"workflow_run", "ann", run("ann", "ann", "o/r"), Rules{}, Run, ""},
		"a run of a stranger's":   {"workflow_run", "ann", run("eve", "ann", "x/r"), Rules{}, Refuse, "eve"},
		"run again by a stranger": {"workflow_run", "ann", run("ann", "eve", "o/r"), Rules{}, Refuse, "eve"},
		"an event of tomorrow":    {"telepathy", "bob", "{" + own + "}", Rules{}, Refuse, "no write access"},
		"nobody":                  {"watch", "", "{" + own + "}", Rules{}, Refuse, "names no person"},
	} {
		e, err := event(t, tc.name, tc.actor, tc.payload)
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		if d := tc.rules.Judge(e, permissions); d.Verdict != tc.want || !strings.Contains(d.Why, tc.why) {
			t.Errorf("%s: %+v, want %v with %q", title, d, tc.want, tc.why)
		}
	}
}

// Attack: payloads that do not say what they must.
func TestAttackPayloads(t *testing.T) {
	for title, payload := range map[string]string{
		"none": "", "no JSON": "x", "another repository's": `{"repository":{"full_name":"x/r"},` + same + "}", "no repository": "{" + same + "}",
		"no pull request": "{" + own + "}",
	} {
		if e, err := event(t, "pull_request", "ann", payload); err == nil {
			t.Errorf("%s: %+v", title, e)
		}
	}
}

func TestUntrustedCommits(t *testing.T) {
	comment := "{" + own + `,"issue":{"title":"t","pull_request":{}},"comment":{"body":"x"}}`
	for title, tc := range map[string]struct {
		name, payload, head string // GITHUB_SHA is "base"
		want                bool
	}{
		"push":                        {"push", "", "x", false},
		"pull request":                {"pull_request", "{" + own + "," + same + "}", "base", false},
		"a fork's":                    {"pull_request", "{" + own + "," + fork + "}", "base", true},
		"a fork's, target":            {"pull_request_target", "{" + own + "," + fork + "}", "base", false},
		"a fork's, its commit":        {"pull_request_target", "{" + own + "," + fork + "}", "x", true},
		"review":                      {"pull_request_review", "{" + own + "," + same + "}", "base", true},
		"issue":                       {"issues", "{" + own + `,"issue":{"title":"t"}}`, "x", false},
		"comment, the base":           {"issue_comment", comment, "base", false},
		"comment, the commit":         {"issue_comment", comment, "x", true},
		"comment, no commit":          {"issue_comment", comment, "", true},
		"a run of the repository's":   {"workflow_run", "{" + own + `,"workflow_run":{"head_repository":{"full_name":"o/r"}}}`, "x", false},
		"a run of a fork's":           {"workflow_run", "{" + own + `,"workflow_run":{"head_repository":{"full_name":"x/r"}}}`, "x", true},
		"a run of a fork's, the base": {"workflow_run", "{" + own + `,"workflow_run":{"head_repository":{"full_name":"x/r"}}}`, "base", false},
	} {
		e, err := event(t, tc.name, "ann", tc.payload)
		if got := e.Untrusted(tc.head, "base"); err != nil || got != tc.want {
			t.Errorf("%s: %v, %v", title, got, err)
		}
	}
}
