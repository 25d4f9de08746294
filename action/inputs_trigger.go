package action

import (
	"context"
	"errors"
	"fmt"

	"github.com/org/claude-sandbox/action/github"
	"github.com/org/claude-sandbox/action/proposal"
	"github.com/org/claude-sandbox/action/trigger"
	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
)

// Conclusions of a step whose event starts no agent.
const (
	NotAllowed agent.Conclusion = "not_allowed" // who started the workflow may not start an agent
	Skipped    agent.Conclusion = "skipped"     // the event is not meant for it: no phrase, or no label
)

// TriggerInputs are those of the Inputs that say which events start an agent.
type TriggerInputs struct {
	AllowedActors          []string `input:"allowed_actors"`
	TriggerPhrase          string   `input:"trigger_phrase"`
	RequiredLabel          string   `input:"required_label"`
	AllowPullRequestTarget bool     `input:"allow_pull_request_target"`
	Token                  string   `input:"github_token"` // asks who may write to the repository
}

func (p *inputParser) trigger() TriggerInputs {
	return TriggerInputs{
		AllowedActors: p.list("allowed_actors"), TriggerPhrase: p.get("trigger_phrase"), RequiredLabel: p.get("required_label"),
		AllowPullRequestTarget: p.boolean("allow_pull_request_target", false), Token: p.secret("github_token"),
	}
}

// started decides whether the event starts an agent; an outcome without a conclusion says
// yes. It notes in r whether the checked-out commit may be a stranger's, and then has the
// texts of its base.
func (s *step) started(ctx context.Context, in Inputs, r *reported) (out agent.Outcome, err error) {
	r.untrusted = true
	event, err := trigger.Read(s.Getenv)
	if err != nil {
		return agent.Outcome{Conclusion: NotAllowed, Message: err.Error()}, err
	}
	client := github.Client{API: s.Getenv("GITHUB_API_URL"), Token: in.Token, Repository: s.Getenv("GITHUB_REPOSITORY")}
	rules := trigger.Rules{Actors: in.AllowedActors, Phrase: in.TriggerPhrase, Label: in.RequiredLabel, AllowTarget: in.AllowPullRequestTarget}
	d := rules.Judge(event, func(user string) (string, error) {
		if in.Token == "" {
			return "", errors.New("there is no token to ask GitHub with")
		}
		return client.Permission(ctx, user)
	})
	switch d.Verdict {
	case trigger.Run:
		head, _ := proposal.Repository{Dir: s.Getenv("GITHUB_WORKSPACE")}.Head(ctx) // none is known without a repository
		if r.untrusted = event.Untrusted(head, s.Getenv("GITHUB_SHA")); r.untrusted && event.Base != "" {
			r.texts, err = baseTexts(ctx, client, event.Base, s.folder(in.WorkingDirectory))
			if err != nil {
				s.annotate("warning", "claude-sandbox", fmt.Errorf("no instructions of the base, %s, reach Claude: %w", event.Base, err))
			}
		}
		return agent.Outcome{}, nil
	case trigger.Skip:
		return agent.Outcome{Conclusion: Skipped, Message: d.Why}, nil
	}
	err = fmt.Errorf("this event may not start an agent: %s", d.Why)
	out = agent.Outcome{Conclusion: NotAllowed, Message: err.Error()}
	if d.Hint != "" {
		err = diag.WithHint(err, "%s", d.Hint)
	}
	return out, err
}
