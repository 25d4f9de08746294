package trigger

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/visible"
)

// Rules are what a workflow says about who may start an agent.
type Rules struct {
	Actors      []string // logins that need no write access; a bot's ends with [bot]
	Phrase      string   // that a text must hold, such as @claude; "" = any text starts
	Label       string   // that the issue or pull request must have; "" = none
	AllowTarget bool     // pull_request_target starts, too
}

// Verdict is what becomes of an event.
type Verdict int

// The verdicts.
const (
	Refuse Verdict = iota // it may not start an agent
	Skip                  // it is not meant for the agent
	Run
)

// Decision is a verdict and why, with what to do about a refusal.
type Decision struct {
	Verdict Verdict
	Why     string
	Hint    string
}

// Judge decides about an event. permission says what a user may do in the repository, in
// the words of GitHub's API.
func (r Rules) Judge(e Event, permission func(user string) (string, error)) Decision {
	switch {
	case r.Phrase != "" && e.HasText && !holds(e.Text, r.Phrase):
		return Decision{Skip, fmt.Sprintf("the text does not hold %q, the input trigger_phrase", r.Phrase), ""}
	case r.Label != "" && e.HasItem && !slices.Contains(e.Labels, r.Label):
		return Decision{Skip, fmt.Sprintf("the label %q, the input required_label, is not there", r.Label), ""}
	case e.Name == "pull_request_target" && !r.AllowTarget:
		return Decision{Refuse, "pull_request_target gives a workflow its secrets for commits of strangers",
			"use the event pull_request, or a comment of somebody with write access; allow_pull_request_target: true starts it all the same"}
	case e.isTrusted():
		return Decision{Verdict: Run}
	case len(e.Actors) == 0:
		return Decision{Refuse, fmt.Sprintf("the payload of the event %s names no person", visible.Line(e.Name)), ""}
	}
	for _, actor := range e.Actors {
		if d := r.judgeActor(actor, permission); d.Verdict != Run {
			return d
		}
	}
	return Decision{Verdict: Run}
}

// judgeActor decides about one of those behind an event.
func (r Rules) judgeActor(actor string, permission func(user string) (string, error)) Decision {
	named := func(login string) bool { return strings.EqualFold(login, actor) }
	shown := visible.Line(actor)
	switch {
	case slices.ContainsFunc(r.Actors, named):
		return Decision{Verdict: Run}
	case strings.HasSuffix(actor, "[bot]"):
		return Decision{Refuse, "the event is by the bot " + shown, "name it in allowed_actors, if what it does comes from people whom you trust"}
	}
	may, err := permission(actor)
	switch {
	case err != nil:
		return Decision{Refuse, fmt.Sprintf("GitHub does not say what %s may do in the repository: %v", shown, err),
			"give github_token, such as ${{ github.token }}"}
	case may == "admin" || may == "write":
		return Decision{Verdict: Run}
	}
	return Decision{Refuse, fmt.Sprintf("%s has no write access to the repository, but the permission %q", shown, visible.Line(may)),
		"name the login in allowed_actors, or let somebody with write access start the workflow"}
}

// holds reports whether a text has a phrase as words of its own.
func holds(text, phrase string) bool {
	word, err := regexp.Compile(`(?i)(^|[^\pL\pN_@/.-])` + regexp.QuoteMeta(phrase) + `($|[^\pL\pN_/-])`)
	return err == nil && word.MatchString(text)
}
