package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session"
	projectrecipe "github.com/org/claude-sandbox/session/recipe" // recipe is the one of image build
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/settings/trust"
)

// projectTrust is what the user has accepted of one project, next to what its
// settings are now.
type projectTrust struct {
	store   *trust.Store
	name    string // in the store
	project *session.Project
	content trust.Content
	answer  trust.Answer
}

// trustOf asks the user's folder about a project as it was read.
func (a *app) trustOf(p *session.Project) (*projectTrust, error) {
	t, err := a.ownTrust(p.Dir)
	if err != nil {
		return nil, err
	}
	t.project, t.content = p, p.Content()
	if t.answer, err = t.store.Look(t.name, t.content); err != nil {
		return nil, trustError(err)
	}
	return t, nil
}

// trustStore opens the user's list for a question about the project in dir; "" = about
// none.
func (a *app) trustStore(dir string) (*trust.Store, error) {
	folder, err := userdir.Find(a.getenv)
	if err != nil {
		return nil, trustError(err)
	}
	store, err := trust.Open(folder, dir)
	return store, trustError(err)
}

// trustError gives an error of the user's folder its exit code.
func trustError(err error) error {
	var file *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, trust.ErrBusy):
		return exitWith(exitLocked, diag.WithHint(err, "try again"))
	case errors.As(err, &file):
		return exitWith(exitCantWrite, fmt.Errorf("your list of trusted projects: %w", err))
	}
	return exitWith(exitConfig, err)
}

// accept remembers the settings as they were read.
func (t *projectTrust) accept(by string) error {
	return trustError(t.store.Accept(t.name, t.content, by))
}

// show says what the settings open and what has changed since they were accepted.
// All of it is text of the project's.
func (t *projectTrust) show(w io.Writer) {
	if old := t.answer.Accepted; old != nil {
		fmt.Fprintln(w, "The difference from what you accepted:")
		writeBounded(w, t.content.Diff(old))
	}
	for _, dir := range t.answer.Elsewhere {
		fmt.Fprintf(w, "You accepted the same text in %s.\n", visible.ASCII(dir))
	}
	openings := t.openings()
	if len(openings) == 0 {
		fmt.Fprintln(w, "They open nothing.")
		return
	}
	fmt.Fprintln(w, "With them a run has:")
	writeOpenings(w, openings)
}

func writeOpenings(w io.Writer, openings []settings.Opening) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, o := range openings {
		fmt.Fprintf(table, "  %s\t%s\n", o.Kind, o.Text)
	}
	table.Flush()
}

// openings are what a run has with the project as it is.
func (t *projectTrust) openings() (openings []settings.Opening) {
	if t.project.Settings != nil {
		openings = runOpenings(t.project.Settings.Settings.Settings)
	}
	switch r := t.project.Recipe; {
	case r == nil || r.Unusable != "":
	case r.Image != "":
		openings = append(openings, settings.Opening{Kind: "image", Text: visible.ASCII(r.Image) + ", of " + r.File})
	default:
		openings = append(openings, settings.Opening{Kind: "image",
			Text: "built from " + visible.ASCII(r.Dockerfile) + ", whose steps run on this engine with the network and without a firewall"})
	}
	return openings
}

// Bounds of a difference that is shown, so that it does not push away what follows.
const (
	maxDifference     = 60  // lines
	maxDifferenceLine = 300 // bytes
)

func writeBounded(w io.Writer, text string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		if i == maxDifference {
			fmt.Fprintf(w, "  and %d more lines: look at the file\n", len(lines)-i)
			return
		}
		if len(line) > maxDifferenceLine {
			line = line[:maxDifferenceLine] + " (cut)"
		}
		fmt.Fprintf(w, "  %s\n", visible.Line(line))
	}
}

// runOpenings are the openings of a run that takes settings as they are: presets of a
// person's session stay closed in it.
func runOpenings(s settings.Settings) []settings.Opening {
	s.Network.Presets = slices.DeleteFunc(slices.Clone(s.Network.Presets),
		func(p string) bool { return slices.Contains(settings.SessionPresets(), p) })
	return s.Openings()
}

// acceptProject lets o take the project's settings as they are, if the user has
// accepted them, or does now. Settings that only narrow need no word.
func (a *app) acceptProject(ctx context.Context, p *session.Project, o *sandbox.Options, mayAsk bool) error {
	if o.TrustProject || len(p.Content()) == 0 {
		return nil
	}
	t, err := a.trustOf(p)
	if err != nil {
		return err
	}
	if t.answer.Standing == trust.Trusted {
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
		if t.answer.Standing == trust.Changed {
			fmt.Fprintf(a.stderr, "sbx-devc: %s has changed since you accepted it\n", whatToAccept(p))
		}
		return refused
	}
	fmt.Fprintf(a.stderr, "sbx-devc: %s asks for more than a run opens by itself\n", whatToAccept(p))
	t.show(a.stderr)
	yes, err := to.Confirm(ctx, "Trust these settings, until they change?", false)
	if err != nil {
		return unanswered(err)
	}
	if !yes {
		return refused
	}
	o.TrustProject = true
	return t.accept("run")
}

// whatToAccept names the files that a question of trust is about.
func whatToAccept(p *session.Project) string {
	switch {
	case p.Settings == nil:
		return visible.Line(p.Recipe.File)
	case p.Recipe == nil || p.Recipe.Unusable != "":
		return visible.Line(p.Settings.Path)
	}
	return visible.Line(p.Settings.Path) + ", with the dev container,"
}

// acceptOwn remembers files that a command of ours wrote in the place of whatever
// was accepted before: what they open was the user's word. A file that is another one
// by now is not accepted. The command has done its work, so a failure is a note.
func (a *app) acceptOwn(dir string, written map[string][]byte, by string) {
	t, err := a.ownTrust(dir)
	var p *session.Project
	if err == nil {
		p, err = session.ReadProject(dir)
	}
	if err == nil {
		content := p.Content()
		for name, text := range content {
			own := written[strings.TrimSuffix(strings.TrimPrefix(name, projectrecipe.ImagePrefix), projectrecipe.Executable)]
			if name == filepath.Base(defaultSettings) {
				own = written[filepath.ToSlash(defaultSettings)]
			}
			if !bytes.Equal(own, text) {
				err = fmt.Errorf("%s is not the file that was written", name)
			}
		}
		if err == nil {
			err = t.store.Accept(t.name, content, by)
		}
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "sbx-devc: note: 'run' will ask about %s: %v\n", filepath.ToSlash(defaultSettings), err)
	}
}

// keepTrust follows a change of a project's settings by the user's word: they stay
// trusted if they were before. It says what to do if they were not.
func (a *app) keepTrust(dir string, before *settings.File, now []byte, by string) {
	t, err := a.ownTrust(dir)
	if err == nil {
		old := projectrecipe.Accepted(before, projectrecipe.Read(dir), now)
		var kept bool
		if kept, err = t.store.Keep(t.name, old, old.With(filepath.Base(before.Path), now), by); kept {
			return
		}
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "sbx-devc: note: the settings are not trusted: %v\n", err)
	}
	fmt.Fprintf(a.stderr, "sbx-devc: note: for 'run', accept the settings with '%s'\n", acceptCommand(dir))
}

// ownTrust is the store for the project in dir, without a question.
func (a *app) ownTrust(dir string) (*projectTrust, error) {
	name, err := trust.Project(dir)
	if err != nil {
		return nil, exitWith(exitNoInput, err)
	}
	store, err := a.trustStore(dir)
	return &projectTrust{store: store, name: name}, err
}

// acceptCommand is how a user accepts the settings of the project in dir.
func acceptCommand(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return "sbx-devc trust " + shellWord(visible.Line(dir))
}
