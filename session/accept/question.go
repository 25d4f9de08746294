package accept

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/settings/trust"
)

// Question is whether a user accepts what a project's files open.
type Question struct {
	project *session.Project
	answer  trust.Answer
	texts   texts
	own     []settings.Secret // the user's
	entry
}

// entry is the place of a project in the user's store.
type entry struct {
	store *trust.Store
	name  string
}

// About asks the user's folder own about a project as it was read.
func About(own userdir.Dir, p *session.Project) (*Question, error) {
	e, err := entryOf(own, p.Dir)
	if err != nil {
		return nil, err
	}
	answer, err := e.store.Look(e.name, p.Content())
	if err != nil {
		return nil, exitError(err)
	}
	texts, err := e.texts(p.Dir)
	if err != nil {
		return nil, exitError(err)
	}
	q := &Question{p, answer, texts, nil, e}
	users, err := session.OwnSettings(own, p.Dir)
	if users != nil {
		q.own = users.Settings.Secrets
	}
	return q, err
}

// OwnFiles returns the settings and the devcontainer.json of the project in dir as they are
// now, by their real paths, where the user has accepted them: also where a command of his,
// such as allow, has just changed them. The agent of a run can write neither.
func OwnFiles(own userdir.Dir, dir string) map[string][]byte {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil
	}
	p, err := session.ReadProject(dir)
	if err != nil {
		return nil
	}
	if q, err := About(own, p); err != nil || q.Standing() != trust.Trusted {
		return nil
	}
	files := map[string][]byte{}
	if p.Settings != nil {
		files[filepath.Join(real, ".devcontainer", filepath.Base(p.Settings.Path))] = p.Settings.Source
	}
	if p.Recipe != nil {
		if text, ok := p.Recipe.Content[p.Recipe.File]; ok {
			files[filepath.Join(real, filepath.FromSlash(p.Recipe.File))] = text
		}
	}
	return files
}

func entryOf(own userdir.Dir, dir string) (e entry, err error) {
	if e.name, err = trust.Project(dir); err != nil {
		return e, exitcode.With(exitcode.NoInput, err)
	}
	e.store, err = trust.Open(own, dir)
	return e, exitError(err)
}

// exitError gives an error of the user's folder its exit code.
func exitError(err error) error {
	var file *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, trust.ErrBusy):
		return exitcode.With(exitcode.Locked, diag.WithHint(err, "try again"))
	case errors.As(err, &file):
		return exitcode.With(exitcode.CantWrite, fmt.Errorf("your list of trusted projects: %w", err))
	}
	return exitcode.With(exitcode.Config, err)
}

// Standing says whether the files are accepted as they are.
func (q *Question) Standing() trust.Standing { return q.answer.Standing }

// Accept remembers the files as they were read. by names the command.
func (q *Question) Accept(by string) error {
	err := q.store.Accept(q.name, q.project.Content(), by)
	if err == nil {
		err = q.acceptTexts(q.texts, by)
	}
	return exitError(err)
}

// Decline remembers that the user does not accept the files as they are.
func (q *Question) Decline(by string) error {
	return exitError(q.store.Accept(declinedName(q.name), declined(q.project.Content()), by))
}

// Declined reports whether the user was asked about the files as they are, and said no.
func (q *Question) Declined() (bool, error) {
	answer, err := q.store.Look(declinedName(q.name), declined(q.project.Content()))
	return answer.Standing == trust.Trusted, exitError(err)
}

// declinedName is the name in the store of what the user did not accept of a project; no
// path has two slashes in a row.
func declinedName(project string) string { return project + "//declined" }

// declined is content that is told from the same one accepted anywhere.
func declined(c trust.Content) trust.Content { return c.With("declined", nil) }

// Subject names the files that the question is about.
func (q *Question) Subject() string {
	p := q.project
	switch {
	case p.Settings == nil:
		return visible.Line(p.Recipe.File)
	case p.Recipe == nil || p.Recipe.Unusable != "":
		return visible.Line(p.Settings.Path)
	}
	return visible.Line(p.Settings.Path) + ", with the dev container,"
}

// Show says what the files open and what has changed since they were accepted.
func (q *Question) Show(w io.Writer) {
	if old := q.answer.Accepted; old != nil {
		fmt.Fprintln(w, "The difference from what you accepted:")
		writeBounded(w, q.project.Content().Diff(old))
	}
	q.showTexts(w)
	for _, dir := range q.answer.Elsewhere {
		fmt.Fprintf(w, "You accepted the same text in %s.\n", visible.ASCII(dir))
	}
	openings := q.openings()
	if len(openings) == 0 {
		fmt.Fprintln(w, "They open nothing.")
		return
	}
	fmt.Fprintln(w, "With them a run has:")
	WriteOpenings(w, openings)
}

// WriteOpenings writes one line for each opening.
func WriteOpenings(w io.Writer, openings []settings.Opening) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, o := range openings {
		fmt.Fprintf(table, "  %s\t%s\n", o.Kind, o.Text)
	}
	table.Flush()
}

// openings are what a run has with the project as it is. Presets of a person's session
// stay closed in a run.
func (q *Question) openings() (openings []settings.Opening) {
	add := func(s settings.Settings) {
		s.Network.Presets = slices.DeleteFunc(slices.Clone(s.Network.Presets),
			func(p string) bool { return slices.Contains(settings.SessionPresets(), p) })
		openings = append(openings, s.Openings()...)
		openings = append(openings, s.KeyOpenings(q.own)...)
	}
	if q.project.Settings != nil {
		add(q.project.Settings.Settings.Settings)
	}
	if options := q.project.Recipe.Options(); options != nil {
		add(*options)
	}
	switch r := q.project.Recipe; {
	case r == nil || r.Unusable != "":
	case r.Image != "":
		openings = append(openings, settings.Opening{Kind: "image", Text: visible.ASCII(r.Image) + ", of " + r.File})
	default:
		openings = append(openings, settings.Opening{Kind: "image",
			Text: "built from " + visible.ASCII(r.Dockerfile) + ", whose steps run on this engine with the network and without a firewall"})
	}
	if r := q.project.Recipe; r != nil && r.Unusable == "" && len(r.Features) > 0 {
		openings = append(openings, settings.Opening{Kind: "image", Text: "with the Features " + visible.ASCII(strings.Join(r.Features, ", ")) +
			", whose scripts run on this engine with the network and without a firewall"})
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
