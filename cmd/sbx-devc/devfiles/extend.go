package devfiles

import (
	"context"
	"fmt"
	"strings"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/ask"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/session/recipe"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/adopt"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// extend puts the firewall Feature into the dev container that is there; to is
// the terminal to ask about hosts, nil = do not ask.
func extend(ctx context.Context, a *cli.App, to *ask.Terminal, o initOptions, dir scaffold.Folder, report detect.Report) error {
	in, err := scaffold.Choose(o.Request, report)
	if err != nil {
		return err
	}
	config, err := adopt.Config(dir)
	if err != nil {
		return err
	}
	if lacks := templates.FirewallLacks(config, o.Presets, o.Allow); len(lacks) > 0 {
		err := fmt.Errorf("%s has the firewall already, without %s", dir.Path(scaffold.ConfigPath), strings.Join(lacks, ", "))
		return exitcode.With(exitcode.Refused, diag.WithHint(err, "its options are yours: add them to its presets or allow by hand"))
	}
	if in.Presets, err = adopt.Presets(in.Presets); err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	if report.Hosts, err = adopt.NewHosts(report.Hosts, in.Presets, in.Allow); err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	report.Template, report.Languages = detect.Proposal{}, nil // the image is the user's own
	composed := templates.Composed(config)
	if composed {
		report.Services = nil // adopt.Plan names them
	}
	a.Say(scaffold.Reasons(report, in))
	if composed {
		report.Services = adopt.Services(dir)
		in.Private = report.PrivateNames(in.Allow)
	}
	x, err := adopt.Plan(dir, config, in)
	if err != nil {
		return err
	}
	asks := len(x.Refused) == 0 && !templates.Extended(config) && to != nil
	if asks {
		if err := askAllow(ctx, to, report, &in); err != nil {
			return err
		}
		if x, err = adopt.Plan(dir, config, in); err != nil {
			return err
		}
	}
	if len(x.Refused) == 0 && len(x.Changed) > 0 {
		showOpenings(a, extended(x))
	}
	if asks {
		if err := agree(ctx, to, "Put the firewall into this dev container?"); err != nil {
			return err
		}
	}
	return finish(a, dir, x, in.Private, o.dryRun)
}

// finish writes an extension, or only shows it, and names the next commands.
func finish(a *cli.App, dir scaffold.Folder, x *adopt.Extension, private []string, dryRun bool) error {
	if dryRun {
		if err := showFiles(a, dir, x.Files, "changed"); err != nil {
			return err
		}
	}
	switch err := refuseExtension(a, x); {
	case err != nil:
		return exitcode.With(exitcode.Refused, err)
	case dryRun:
		sayNotes(a, x.Notes)
		return nil
	case len(x.Changed) == 0:
		fmt.Fprintf(a.Stderr, "sbx-devc: %s has the firewall already\n", dir.Path(scaffold.ConfigPath))
		return nil
	}
	if err := writeExtension(a, x); err != nil {
		return err
	}
	fmt.Fprintln(a.Stderr, "sbx-devc: next:")
	if x.Joins {
		sayServices(a, 37, private)
	}
	fmt.Fprint(a.Stderr, `  sbx-devc validate                     what else opens it
  devcontainer up --remove-existing-container, or "Rebuild Container" in the editor
  claude                                in its terminal; /login once
  sbx-devc trust                        accept these files for runs, here and in another clone
  sbx-devc run                          Claude Code in this image, on your terminal
`+endsContainer)
	return nil
}

// extended are the settings that the firewall Feature's options come to; nil where they cannot be read.
func extended(x *adopt.Extension) *settings.Accepted {
	for _, f := range x.Files {
		if f.Path == scaffold.ConfigPath {
			if file, err := recipe.Options(f.Path, f.Content); err == nil && file != nil {
				return file.Settings
			}
		}
	}
	return nil
}

// refuseExtension shows why the files must not be written, if anything speaks
// against them: each finding, and with Compose the lines that its service needs.
func refuseExtension(a *cli.App, x *adopt.Extension) error {
	if len(x.Refused) == 0 {
		return nil
	}
	rules := showErrors(a, x.Refused)
	if s := x.Service; s != nil {
		fmt.Fprintf(cli.Shown(a.Stderr), "sbx-devc: add to the service %q in %s:\n%s", s.Service, s.File, s)
		if x.Agent != "" {
			fmt.Fprintf(cli.Shown(a.Stderr),
				"sbx-devc: and to %s, so that the agent stays who it is:\n    \"remoteUser\": %q,\n", scaffold.ConfigPath, x.Agent)
		}
	}
	err := fmt.Errorf("%s: the files would not be valid: %s", x.Dir, rules)
	return diag.WithHint(err, "nothing was written; correct these first, then run init --extend again")
}

// showErrors shows each finding as an error: somebody who corrects one after the
// other comes back as often. It returns their rules as a list.
func showErrors(a *cli.App, findings []diag.Finding) (rules string) {
	var ids []string
	for _, f := range findings {
		a.PrintError(diag.WithHint(fmt.Errorf("%s:%d: %s [%s]", f.File, f.Line, f.Message, f.Rule), "%s", f.Hint))
		ids = append(ids, f.Rule)
	}
	return strings.Join(ids, ", ")
}

// writeExtension writes what has changed and says so.
func writeExtension(a *cli.App, x *adopt.Extension) error {
	notes, err := x.Write()
	if err != nil {
		return err
	}
	var named []templates.File
	size := 0
	for _, f := range x.Changed {
		if adopt.OwnFeature(f) {
			size += len(f.Content)
		} else {
			named = append(named, f)
		}
	}
	wrote(a, x.Dir, named)
	if size > 0 {
		fmt.Fprintf(a.Stderr,
			"sbx-devc: wrote the Features with sbx-init and Claude Code's installer below %s (%d MB); commit them, so that the "+
				"container can be built from every clone\n",
			x.Dir.Path(".devcontainer"), (size+500_000)/1_000_000)
	}
	sayNotes(a, notes)
	projects.NoteClosed(a, string(x.Dir))
	return nil
}
