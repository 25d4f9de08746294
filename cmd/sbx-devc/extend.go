package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/org/claude-sandbox/internal/ask"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/adopt"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// extend puts the firewall Feature into the dev container that is there; to is
// whom to ask about hosts, nil = nobody.
func (a *app) extend(ctx context.Context, to *ask.Terminal, o initOptions, dir scaffold.Folder, report detect.Report) error {
	in, err := scaffold.Choose(o.Request, report)
	if err != nil {
		return initError(err)
	}
	config, err := adopt.Config(dir)
	if err != nil {
		return initError(err)
	}
	if lacks := templates.FirewallLacks(config, o.Presets, o.Allow); len(lacks) > 0 {
		err := fmt.Errorf("%s has the firewall already, without %s", dir.Path(scaffold.ConfigPath), strings.Join(lacks, ", "))
		return exitWith(exitRefused, diag.WithHint(err, "its options are yours: add them to its presets or allow by hand"))
	}
	if in.Presets, err = adopt.Presets(in.Presets); err != nil {
		return exitWith(exitInternal, err)
	}
	if report.Hosts, err = adopt.NewHosts(report.Hosts, in.Presets, in.Allow); err != nil {
		return exitWith(exitInternal, err)
	}
	report.Template = detect.Proposal{}
	a.say(scaffold.Reasons(report, in))
	x, err := adopt.Plan(dir, config, in.Presets, in.Allow)
	if err != nil {
		return initError(err)
	}
	if len(x.Refused) == 0 && !templates.Extended(config) && to != nil {
		if in, err = askHosts(ctx, to, report, in); err != nil {
			return err
		}
		if x, err = adopt.Plan(dir, config, in.Presets, in.Allow); err != nil {
			return initError(err)
		}
	}
	if o.dryRun {
		if err := a.showFiles(dir, x.Files, "changed"); err != nil {
			return err
		}
	}
	switch err := a.refuseExtension(x); {
	case err != nil:
		return exitWith(exitRefused, err)
	case o.dryRun:
		a.notes(x.Notes)
		return nil
	case len(x.Changed) == 0:
		fmt.Fprintf(a.stderr, "sbx-devc: %s has the firewall already\n", dir.Path(scaffold.ConfigPath))
		return nil
	}
	if err := a.writeExtension(x); err != nil {
		return initError(err)
	}
	fmt.Fprint(a.stderr, `sbx-devc: next:
  sbx-devc validate                     what else opens it
  devcontainer up --remove-existing-container, or "Rebuild Container" in the editor
  claude                                in its terminal; /login once
`+endsContainer)
	return nil
}

// refuseExtension shows why the files must not be written, if anything speaks
// against them: each finding, and with Compose the lines that its service needs.
func (a *app) refuseExtension(x *adopt.Extension) error {
	if len(x.Refused) == 0 {
		return nil
	}
	rules := a.showErrors(x.Refused)
	if s := x.Service; s != nil {
		fmt.Fprintf(shown(a.stderr), "sbx-devc: add to the service %q in %s:\n%s", s.Service, s.File, s)
		if x.Agent != "" {
			fmt.Fprintf(shown(a.stderr),
				"sbx-devc: and to %s, so that the agent stays who it is:\n    \"remoteUser\": %q,\n", scaffold.ConfigPath, x.Agent)
		}
	}
	err := fmt.Errorf("%s: the files would not be valid: %s", x.Dir, rules)
	return diag.WithHint(err, "nothing was written; correct these first, then run init --extend again")
}

// showErrors shows each finding as an error: somebody who corrects one after the
// other comes back as often. It returns their rules as a list.
func (a *app) showErrors(findings []diag.Finding) (rules string) {
	var ids []string
	for _, f := range findings {
		a.printError(diag.WithHint(fmt.Errorf("%s:%d: %s [%s]", f.File, f.Line, f.Message, f.Rule), "%s", f.Hint))
		ids = append(ids, f.Rule)
	}
	return strings.Join(ids, ", ")
}

// writeExtension writes what has changed and says so.
func (a *app) writeExtension(x *adopt.Extension) error {
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
	a.wrote(x.Dir, named)
	if size > 0 {
		fmt.Fprintf(a.stderr,
			"sbx-devc: wrote the Features with sbx-init and Claude Code's installer below %s (%d MB); commit them, so that the "+
				"container can be built from every clone\n",
			x.Dir.Path(".devcontainer"), (size+500_000)/1_000_000)
	}
	a.notes(notes)
	a.noteClosed(string(x.Dir))
	return nil
}
