package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/accept"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/settings/trust"
)

// ownFolder is the user's folder of settings.
func (a *app) ownFolder() (userdir.Dir, error) {
	folder, err := userdir.Find(a.getenv)
	if err != nil {
		return folder, exitWith(exitConfig, err)
	}
	return folder, nil
}

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

// acceptWritten accepts files that a command of ours wrote. The command has done its
// work, so a failure is a note.
func (a *app) acceptWritten(dir string, files map[string][]byte, by string) {
	own, err := a.ownFolder()
	if err == nil {
		err = accept.Written(own, dir, files, by)
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "sbx-devc: note: 'run' will ask about %s: %v\n", filepath.ToSlash(defaultSettings), err)
	}
}

// keepTrust follows a change of a project's settings by the user's word, and says what
// to do if they were not trusted before.
func (a *app) keepTrust(dir string, before *settings.File, now []byte, by string) {
	own, err := a.ownFolder()
	kept := false
	if err == nil {
		kept, err = accept.Keep(own, dir, before, now, by)
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "sbx-devc: note: the settings are not trusted: %v\n", err)
	}
	if !kept || err != nil {
		fmt.Fprintf(a.stderr, "sbx-devc: note: for 'run', accept the settings with '%s'\n", acceptCommand(dir))
	}
}

// acceptCommand is how a user accepts the settings of the project in dir.
func acceptCommand(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return "sbx-devc trust " + shellWord(visible.Line(dir))
}
