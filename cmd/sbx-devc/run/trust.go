package run

import (
	"context"
	"fmt"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/accept"
	"github.com/org/claude-sandbox/settings/trust"
)

// TrustOf is the question about a project, with what the user answered before.
func TrustOf(a *cli.App, p *session.Project) (*accept.Question, error) {
	own, err := projects.OwnFolder(a)
	if err != nil {
		return nil, err
	}
	return accept.About(own, p)
}

const TrustQuestion = "Trust these settings, until they change?"

// acceptProject lets o take the project's settings as they are, if the user has
// accepted them, or does now. Settings that only narrow need no word.
func acceptProject(ctx context.Context, a *cli.App, p *session.Project, o *sandbox.Options, mayAsk bool) error {
	if o.TrustProject || len(p.Content()) == 0 {
		return nil
	}
	question, err := TrustOf(a, p)
	if err != nil {
		return err
	}
	if question.Standing() == trust.Trusted {
		o.TrustProject = true
		return nil
	}
	o.AcceptCommand = projects.AcceptCommand(p.Dir)
	refused := p.Widens(*o)
	to := a.Questions()
	switch {
	case refused == nil:
		return nil
	case to == nil || !mayAsk:
		if question.Standing() == trust.Changed {
			fmt.Fprintf(a.Stderr, "sbx-devc: %s has changed since you accepted it\n", question.Subject())
		}
		return refused
	}
	fmt.Fprintf(a.Stderr, "sbx-devc: %s asks for more than a run opens by itself\n", question.Subject())
	question.Show(a.Stderr)
	yes, err := to.Confirm(ctx, TrustQuestion, false)
	if err != nil {
		return cli.Unanswered(err)
	}
	if !yes {
		return refused
	}
	o.TrustProject = true
	return question.Accept("run")
}
