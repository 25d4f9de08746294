package run

import (
	"context"
	"fmt"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/sandbox/runplan"
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

// acceptProject lets o take the project's settings and its dev container's image as they
// are, if the user has accepted them, or does now. Settings that only narrow need no word.
func acceptProject(ctx context.Context, a *cli.App, p *session.Project, o *runplan.Options, mayAsk bool) error {
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
	switch {
	case mayAsk && a.Questions() != nil:
		o.TrustProject, err = asksToTrust(ctx, a, p, question, *o, refused)
		return err
	case refused != nil && question.Standing() == trust.Changed:
		fmt.Fprintf(a.Stderr, "sbx-devc: %s has changed since you accepted it\n", question.Subject())
	}
	return refused
}

// asksToTrust asks about a project whose settings are refused, or whose image a run does
// not take; refused is nil for the second, which is asked about once and goes on after a no.
func asksToTrust(ctx context.Context, a *cli.App, p *session.Project, question *accept.Question, o runplan.Options,
	refused error) (bool, error) {
	about := "asks for more than a run opens by itself"
	if refused == nil {
		declined, err := question.Declined()
		if declined || err != nil || !p.OffersImage(o) {
			return false, err
		}
		about = "has an image that a run takes once you accept it"
	}
	fmt.Fprintf(a.Stderr, "sbx-devc: %s %s\n", question.Subject(), about)
	question.Show(a.Stderr)
	switch yes, err := a.Questions().Confirm(ctx, TrustQuestion, false); {
	case err != nil:
		return false, cli.Unanswered(err)
	case yes:
		return true, question.Accept("run")
	case refused != nil:
		return false, refused
	}
	a.SayLine("the run goes on without it, and you are not asked again until it changes; '%s' accepts it", o.AcceptCommand)
	return false, question.Decline("run")
}
