package devfiles

import (
	"fmt"
	"io"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/templates/adopt"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// Commands for a dev container of init's own, on one of the user's with the
// Feature in it: there is no template, and so no sandbox.lock. The files that init --extend
// would write now take the template's place.

// updateExtended brings an extended dev container to what this version protects.
func updateExtended(a *cli.App, o updateOptions, dir scaffold.Folder) error {
	if len(o.options) > 0 {
		err := fmt.Errorf("--option %s: %s is no template's, and has no template options", o.options[0], dir)
		return exitcode.With(exitcode.CheckUsage, diag.WithHint(err, "the Feature's options are in %s", scaffold.ConfigPath))
	}
	x, err := adopt.Plan(dir, dir.Read(scaffold.ConfigPath), lock.Input{})
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	switch {
	case len(x.Changed) == 0:
		if err := makeFolders(a, dir, x.Seen, o); err != nil {
			return err
		}
		fmt.Fprintln(a.Stderr, "sbx-devc: up to date with this sbx-devc's Feature")
		return nil
	case o.dryRun:
		return showFiles(a, dir, x.Changed, "changed")
	case o.check:
		for _, f := range x.Changed {
			fmt.Fprintf(a.Stdout, "%s would change\n", f.Path)
		}
		return exitcode.With(exitcode.Findings, nil)
	}
	if err := refuseExtension(a, x); err != nil {
		return exitcode.With(exitcode.Findings, err)
	}
	if err := writeExtension(a, x); err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	return nil
}

// driftExtended says what update would change in an extended dev container.
func driftExtended(a *cli.App, dir scaffold.Folder) error {
	x, err := adopt.Plan(dir, dir.Read(scaffold.ConfigPath), lock.Input{})
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	for _, f := range x.Changed {
		fmt.Fprintf(cli.Shown(a.Stdout), "%s: behind what this sbx-devc writes\n", f.Path)
	}
	if len(x.Changed) > 0 {
		fmt.Fprintln(a.Stderr, "sbx-devc: 'sbx-devc update' writes it")
		return exitcode.With(exitcode.Findings, nil)
	}
	return nil
}

// lockShowExtended shows which Feature an extended dev container has.
func lockShowExtended(to io.Writer, dir scaffold.Folder) error {
	list, err := adopt.Features(dir)
	if err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	for _, f := range list {
		pin := f.Digest
		switch {
		case f.Local && f.Current:
			pin = f.Version + " (as this sbx-devc carries it)"
		case f.Local:
			pin = f.Version + " (of another sbx-devc; 'sbx-devc update' brings this one's)"
		case pin == "":
			pin = "(not looked up)"
		}
		fmt.Fprintf(cli.Shown(to), "feature   %s %s\n", f.Name, pin)
	}
	return nil
}
