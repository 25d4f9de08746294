package main

import (
	"context"
	"fmt"

	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/accept"
	"github.com/org/claude-sandbox/settings/trust"
)

// trustOf is the question about a project, with what the user answered before.
func (a *app) trustOf(p *session.Project) (*accept.Question, error) {
	own, err := a.ownFolder()
	if err != nil {
		return nil, err
	}
	return accept.About(own, p)
}

const trustQuestion = "Trust these settings, until they change?"

// acceptProject lets o take the project's settings as they are, if the user has
// accepted them, or does now. Settings that only narrow need no word.
func (a *app) acceptProject(ctx context.Context, p *session.Project, o *sandbox.Options, mayAsk bool) error {
	if o.TrustProject || len(p.Content()) == 0 {
		return nil
	}
	question, err := a.trustOf(p)
	if err != nil {
		return err
	}
	if question.Standing() == trust.Trusted {
		o.TrustProject = true
		return nil
	}
	o.AcceptCommand = acceptCommand(p.Dir)
	refused := p.Widens(*o)
	to := a.questions()
	switch {
	case refused == nil:
		return nil
	case to == nil || !mayAsk:
		if question.Standing() == trust.Changed {
			fmt.Fprintf(a.stderr, "sbx-devc: %s has changed since you accepted it\n", question.Subject())
		}
		return refused
	}
	fmt.Fprintf(a.stderr, "sbx-devc: %s asks for more than a run opens by itself\n", question.Subject())
	question.Show(a.stderr)
	yes, err := to.Confirm(ctx, trustQuestion, false)
	if err != nil {
		return unanswered(err)
	}
	if !yes {
		return refused
	}
	o.TrustProject = true
	return question.Accept("run")
}
