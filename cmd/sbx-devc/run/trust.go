package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/accept"
	"github.com/org/claude-sandbox/settings"
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

// acceptProject returns the settings of a run by o, which takes the project's settings and
// its dev container's image as they are if the user has accepted them, or does now.
// Settings that only narrow need no word.
func acceptProject(ctx context.Context, a *cli.App, p *session.Project, o *runplan.Options, mayAsk bool) (settings.Accepted, error) {
	if o.TrustProject || len(p.Content()) == 0 {
		return p.Effective(*o)
	}
	question, err := TrustOf(a, p)
	if err != nil {
		return settings.Accepted{}, err
	}
	if question.Standing() == trust.Trusted {
		o.TrustProject = true
		return p.Effective(*o)
	}
	o.AcceptCommand = projects.AcceptCommand(p.Dir)
	s, refused := p.Effective(*o)
	switch {
	case refused != nil && !errors.Is(refused, runplan.ErrWidens):
	case mayAsk && a.Questions() != nil:
		if o.TrustProject, err = asksToTrust(ctx, a, p, question, *o, refused); err == nil && o.TrustProject {
			return p.Effective(*o)
		}
		return s, err
	case refused != nil && question.Standing() == trust.Changed:
		fmt.Fprintf(a.Stderr, "sbx-devc: %s has changed since you accepted it\n", question.Subject())
	}
	return s, refused
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
