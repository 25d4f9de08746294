package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/amend"
)

// amendOptions are the flags of allow, deny and preset.
type amendOptions struct {
	request  amend.Request
	project  string // "" = the one around the current folder
	user     bool
	dryRun   bool
	noReload bool
}

const amendLong = `
The file is .devcontainer/sandbox.jsonc of the project around the current folder;
comments, order and indentation stay, and a file that you had trusted stays trusted.
Dev containers and runs of the project that work at this moment get the same change,
and it is in force when this command returns. A run keeps its own limits: hosts that it denies
stay closed.

Exit code 0: done; 1: a container could not be told; 64: wrong usage; 65: an entry
or the file is wrong, or it denies a host to be allowed; 69: no engine answers;
73: the file cannot be written; 75: another command changes it.`

func AllowCommand(a *cli.App) *cobra.Command {
	return amendCommand(a, "allow", "HOST…", "Open hosts, in the project's settings and in running containers",
		`Open hosts for a project. HOST is a name, *.DOMAIN, HOST:PORT, or NETWORK:PORT.
`+amendLong, `  sbx-devc allow docs.example.com
  sbx-devc allow '*.example.org' git.example.net:22
  sbx-devc allow --private db.internal:5432
  sbx-devc allow --remove docs.example.com`)
}

func DenyCommand(a *cli.App) *cobra.Command {
	return amendCommand(a, "deny", "HOST…", "Close hosts, in the project's settings and in running containers",
		`Close hosts for a project, whatever else allows them. Connections to them end.
`+amendLong, `  sbx-devc deny gist.github.com
  sbx-devc deny --remove gist.github.com`)
}

func PresetCommand(a *cli.App) *cobra.Command {
	return amendCommand(a, "presets", "NAME…", "Open a named list of hosts, in the project's settings and in running containers",
		`Open presets for a project: named lists of hosts, such as npm or pypi.
'sbx-devc policy presets' shows the hosts of each and its risks.
`+amendLong, `  sbx-devc preset npm
  sbx-devc preset --remove pypi`)
}

func amendCommand(a *cli.App, list, args, short, long, example string) *cobra.Command {
	o := amendOptions{request: amend.Request{List: list}}
	cmd := &cobra.Command{
		Use: strings.TrimSuffix(list, "s") + " " + args, Short: short, Long: long, Example: example,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.request.Entries = args
			return change(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.request.Remove, "remove", false, "take the entries out of the list")
	f.StringVar(&o.project, "project", "", "the project's folder (default: the one around the current folder)")
	f.BoolVar(&o.user, "user", false, "change your own settings, which hold for every run of yours from now on")
	f.BoolVar(&o.dryRun, "dry-run", false, "show the change of the file and make none")
	f.BoolVar(&o.dryRun, "diff", false, "the same as --dry-run")
	f.BoolVar(&o.noReload, "no-reload", false, "change the file alone")
	if list == "allow" {
		f.BoolVar(&o.request.Private, "private", false, "the hosts may be in a private network")
	}
	cli.Exclusive(cmd, "user", "project")
	return cmd
}

func change(ctx context.Context, a *cli.App, o amendOptions) error {
	place, err := amendPlace(a, o)
	if err != nil {
		return err
	}
	var meant []string
	o.request, meant = place.WithPorts(o.request)
	for _, note := range meant {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: %s\n", visible.Line(note))
	}
	if o.dryRun {
		return showAmend(a, place, o.request)
	}
	edit, trusted, err := place.Edit(o.request)
	if edit == nil {
		return amendError(a, err)
	}
	if err != nil { // the file is written, and about it alone there is something to say
		a.PrintError(err)
	}
	for _, note := range edit.Notes {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: %s\n", visible.Line(note))
	}
	now := "the file stays as it was"
	if !bytes.Equal(edit.Before, edit.After) {
		now = "the file is changed"
		fmt.Fprintf(a.Stderr, "sbx-devc: changed %s\n", place.File)
	}
	sayJoining(a, place, edit.Joining)
	if place.Project == "" {
		fmt.Fprintln(a.Stderr, "sbx-devc: it holds for every run of yours that starts from now on")
		return nil
	}
	refused := !trusted && o.request.Opens()
	if refused {
		fmt.Fprintln(a.Stderr, "sbx-devc: note: you have not trusted this file, and 'sbx-devc run' refuses what it opens: read it, "+
			"then say 'sbx-devc trust'")
	}
	if o.noReload {
		return nil
	}
	defer a.AwaitEngine()()
	e, err := engine.Connect(ctx)
	if err != nil {
		return exitcode.With(exitcode.Unavailable, fmt.Errorf("%s, and containers that run could not be told: %w", now, err))
	}
	defer e.Close()
	return amendRunning(ctx, a, e, place, o.request, refused)
}

// amendPlace is the file that the request is about.
func amendPlace(a *cli.App, o amendOptions) (amend.Place, error) {
	dir, err := userdir.Find(a.Getenv)
	if err != nil {
		return amend.Place{}, exitcode.With(exitcode.NoInput, err)
	}
	lock := amend.LockFile(projects.Runs(a))
	if o.user {
		if err := dir.Check(""); err != nil {
			return amend.Place{}, exitcode.With(exitcode.Refused, err)
		}
		// People keep their settings elsewhere, behind a link.
		return amend.Place{Lock: lock, File: projects.Real(dir.File(session.OwnSettingsName))}, nil
	}
	if o.project == "" {
		o.project = projects.Dir(a, nil)
	}
	return amend.OfProject(dir, o.project, lock)
}

// showAmend prints the change of the file.
func showAmend(a *cli.App, place amend.Place, r amend.Request) error {
	edit, err := place.Preview(r)
	if err != nil {
		return amendError(a, err)
	}
	for _, note := range edit.Notes {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: %s\n", visible.Line(note))
	}
	if edit.Joining.Changes() {
		if err := showChange(a.Stdout, place.Config(), edit.Joining.Before, edit.Joining.After); err != nil {
			return err
		}
	}
	if bytes.Equal(edit.Before, edit.After) {
		fmt.Fprintf(a.Stderr, "sbx-devc: %s needs no change\n", place.File)
		return nil
	}
	return showChange(a.Stdout, place.File, edit.Before, edit.After)
}

// sayJoining says which network the project's dev container is in from its next creation on.
func sayJoining(a *cli.App, place amend.Place, j amend.Joining) {
	if j.Changes() {
		fmt.Fprintf(a.Stderr, "sbx-devc: changed %s\n", place.Config())
	}
	if j.Network != "" {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: a dev container joins %s when it is made, so rebuild one that is not in it; "+
			"'docker compose up -d %s' comes before\n", visible.Line(j.Network), visible.Line(strings.Join(j.Services, " ")))
	}
}

// showChange prints how a file changes.
func showChange(to io.Writer, file string, before, after []byte) error {
	name := strings.TrimLeft(filepath.ToSlash(file), "/")
	_, err := cli.Shown(to).Write(diff.Diff("a/"+name, before, "b/"+name, after))
	return err
}

// amendError shows all but the last of what is wrong.
func amendError(a *cli.App, err error) error {
	if all := (amend.Errors)(nil); errors.As(err, &all) {
		for _, one := range all[:len(all)-1] {
			a.PrintError(one)
		}
		return exitcode.With(exitcode.Config, all[len(all)-1])
	}
	return amend.WithCode(err)
}

// amendRunning makes the change in what runs, and says what is open now. refused says
// that the next run would not take the file.
func amendRunning(ctx context.Context, a *cli.App, e *engine.Engine, place amend.Place, r amend.Request, refused bool) error {
	firewalls, notes, err := amend.Find(ctx, e, place.Project, projects.Runs(a).Has)
	if err != nil {
		return exitcode.With(exitcode.Unavailable, fmt.Errorf("looking for containers of the project: %w", err))
	}
	for _, note := range notes {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: %s\n", visible.Line(note))
	}
	if len(firewalls) == 0 {
		from := "from the next run on, and in a dev container once that is rebuilt"
		switch {
		case place.Options:
			from = "in the dev container once that is rebuilt, and in runs once you trust the project"
		case refused:
			from = "in runs once you trust the file, and in a dev container once that is rebuilt"
		}
		a.SayLine("nothing of this project runs now; it holds %s", from)
		return nil
	}
	var failed error
	for _, f := range firewalls {
		outcome, err := f.Amend(ctx, e, r.Change())
		if err != nil {
			if failed != nil {
				a.PrintError(failed)
			}
			failed = err
			continue
		}
		if _, err := fmt.Fprintln(a.Stdout, visible.Line(f.Line(r, outcome))); err != nil {
			return err
		}
	}
	if failed != nil {
		return exitcode.With(exitcode.Failed, failed)
	}
	return nil
}
