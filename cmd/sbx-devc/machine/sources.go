package machine

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/cmd/sbx-devc/run"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/doctor"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/settings/trust"
)

// sourcesOfSettings reads what a run in the current folder reads of settings: the user's
// own, profiles, variables and the project's; and an organisation's policy, "" = none.
func sourcesOfSettings(a *cli.App, policy string) (out []doctor.Source) {
	quiet := *a
	quiet.Stderr = io.Discard
	dir, _ := projects.RunDir(&quiet, "")
	if err := run.UnknownVariables(os.Environ(), run.Command(&quiet).Flags()); err != nil {
		out = append(out, doctor.Source{Check: "variables", Err: err, Grave: doctor.Missing})
	}
	if own, err := userdir.Find(a.Getenv); err == nil {
		out = append(out, ownSources(&quiet, own, dir)...)
	}
	out = append(out, projectSources(&quiet, dir)...)
	if policy != "" {
		_, err := org.Read(policy)
		if err != nil {
			err = diag.OrHint(cli.WithHint(err), "docs/checks.md says what it may hold")
		}
		out = append(out, doctor.Source{Check: "policy", Found: policy + " can be used", Err: err, Grave: doctor.Warning})
	}
	return out
}

// ownSources are the user's own settings and profiles for a run on the project in dir.
func ownSources(a *cli.App, own userdir.Dir, dir string) (out []doctor.Source) {
	file, err := session.OwnSettings(own, dir)
	if s := sourceOf("settings", file, err, doctor.Missing); s != nil {
		out = append(out, *s)
	}
	if file != nil && file.Own.SandboxMode == settings.SandboxNone {
		err := diag.WithHint(fmt.Errorf("runs have no sandbox: %s says \"sandbox_mode\": \"none\"", file.Path),
			"take the line out, or give --sandbox for one run")
		out = append(out, doctor.Source{Check: "sandbox", Err: err, Grave: doctor.Warning})
	}
	profiles, err := projects.Profiles(a)
	if err != nil {
		return append(out, doctor.Source{Check: "profile", Err: err, Grave: doctor.Warning})
	}
	for _, p := range profiles {
		if p.Settings == "" {
			continue
		}
		file, err := session.ProfileSettings(own, p.Name, dir)
		if s := sourceOf("profile", file, err, doctor.Warning); s != nil {
			out = append(out, *s)
		}
	}
	return out
}

// projectSources are what the project in dir says of runs.
func projectSources(a *cli.App, dir string) (out []doctor.Source) {
	p, err := session.ReadProject(dir)
	if s := sourceOf("project", p.Settings, err, doctor.Missing); s != nil {
		out = append(out, *s)
	}
	if err != nil {
		return out
	}
	if p.Recipe != nil && p.Recipe.Unusable != "" {
		err := diag.WithHint(fmt.Errorf("a run takes no image of %s, because %s", p.Recipe.File, p.Recipe.Unusable),
			"sbx-devc validate shows what is wrong; without its image a run takes a template's")
		out = append(out, doctor.Source{Check: "image", Err: err, Grave: doctor.Warning})
	}
	if len(p.Content()) == 0 {
		return out
	}
	question, err := run.TrustOf(a, p)
	if err != nil {
		return append(out, doctor.Source{Check: "trust", Err: err, Grave: doctor.Missing})
	}
	if standing := question.Standing(); standing != trust.Trusted {
		words := "you have not accepted %s"
		if standing == trust.Changed {
			words = "%s has changed since you accepted it"
		}
		accept := projects.AcceptCommand(dir)
		err = diag.WithHint(fmt.Errorf(words, question.Subject()), "%s shows it and asks; until then it may only narrow", accept)
		return append(out, doctor.Source{Check: "trust", Err: err, Grave: doctor.Note})
	}
	return append(out, doctor.Source{Check: "trust", Found: "you have accepted " + strings.TrimSuffix(question.Subject(), ",")})
}

// sourceOf is a file of settings that was read with err; nil = there is none.
func sourceOf(check string, file *settings.File, err error, grave doctor.Status) *doctor.Source {
	s := &doctor.Source{Check: check, Grave: grave}
	wrong := (*session.SettingsError)(nil)
	switch {
	case errors.As(err, &wrong):
		s.Err = firstOf(wrong.Findings, diag.HintOf(err))
	case err != nil:
		s.Err = cli.WithHint(cmp.Or(errors.Unwrap(err), err))
	case file == nil:
		return nil
	case diag.Worst(file.Findings, diag.SeverityWarning) > 0:
		s.Err, s.Grave = firstOf(file.Findings, ""), doctor.Warning
	default:
		s.Found = filepath.Clean(file.Path) + " can be used"
	}
	return s
}

// firstOf is the gravest of findings as an error, with its place and the number of others.
func firstOf(findings []diag.Finding, hint string) error {
	first := findings[0]
	for _, f := range findings {
		if f.Severity != first.Severity && f.Severity.AtLeast(first.Severity) {
			first = f
		}
	}
	more := ""
	if n := len(findings) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	err := fmt.Errorf("%s:%d:%d: %s [%s]%s", filepath.Clean(first.File), first.Line, first.Column, first.Message, first.Rule, more)
	if hints := strings.TrimSuffix(strings.TrimPrefix(first.Hint+"; "+hint, "; "), "; "); hints != "" {
		return diag.WithHint(err, "%s", hints)
	}
	return err
}
