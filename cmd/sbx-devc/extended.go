package main

import (
	"fmt"
	"io"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/templates/adopt"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// Commands for a dev container of init's own, on one of the user's with the
// Feature in it: there is no template, and so no sandbox.lock. What init --extend
// would write now takes the template's place.

// updateExtended brings an extended dev container to what this version protects.
func (a *app) updateExtended(o updateOptions, dir scaffold.Folder) error {
	if len(o.options) > 0 {
		err := fmt.Errorf("--option %s: %s is no template's, and has no template options", o.options[0], dir)
		return exitWith(exitCheckUsage, diag.WithHint(err, "the Feature's options are in %s", scaffold.ConfigPath))
	}
	x, err := adopt.Plan(dir, dir.Read(scaffold.ConfigPath), nil, nil)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	switch {
	case len(x.Changed) == 0:
		if err := a.makeFolders(dir, x.Seen, o); err != nil {
			return err
		}
		fmt.Fprintln(a.stderr, "sbx-devc: up to date with this sbx-devc's Feature")
		return nil
	case o.dryRun:
		return a.showFiles(dir, x.Changed, "changed")
	case o.check:
		for _, f := range x.Changed {
			fmt.Fprintf(a.stdout, "%s would change\n", f.Path)
		}
		return exitWith(exitFindings, nil)
	}
	if err := a.refuseExtension(x); err != nil {
		return exitWith(exitFindings, err)
	}
	if err := a.writeExtension(x); err != nil {
		return exitWith(exitNoCheck, err)
	}
	return nil
}

// driftExtended says what update would change in an extended dev container.
func (a *app) driftExtended(dir scaffold.Folder) error {
	x, err := adopt.Plan(dir, dir.Read(scaffold.ConfigPath), nil, nil)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	for _, f := range x.Changed {
		fmt.Fprintf(shown(a.stdout), "%s: behind what this sbx-devc writes\n", f.Path)
	}
	if len(x.Changed) > 0 {
		fmt.Fprintln(a.stderr, "sbx-devc: 'sbx-devc update' writes it")
		return exitWith(exitFindings, nil)
	}
	return nil
}

// lockShowExtended shows which Feature an extended dev container has.
func lockShowExtended(to io.Writer, dir scaffold.Folder) error {
	list, err := adopt.Features(dir)
	if err != nil {
		return exitWith(exitInternal, err)
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
		fmt.Fprintf(shown(to), "feature   %s %s\n", f.Name, pin)
	}
	return nil
}
