package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"charm.land/huh/v2"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/detect"
)

// asks reports whether somebody is there to answer: both ends are a terminal,
// and it is none of a CI job.
func (a *app) asks() bool {
	return a.getenv("CI") == "" && isTerminal(a.stdin) && isTerminal(a.stderr)
}

// askChoice lets the user change what is proposed. Hosts that the project's
// files name start unchecked: agreeing to one is an act.
func (a *app) askChoice(ctx context.Context, r detect.Report, c choice) (choice, error) {
	var ids []huh.Option[string]
	for _, id := range templates.IDs() {
		t, err := templates.Load(id)
		if err != nil {
			return c, exitWith(exitInternal, err)
		}
		ids = append(ids, huh.NewOption(id+": "+t.Name, id))
	}
	var hosts []huh.Option[string]
	for _, p := range r.Hosts {
		if !slices.Contains(c.allow, p.Value) {
			hosts = append(hosts, huh.NewOption(fmt.Sprintf("%s: %s (%s)", p.Value, p.Reason, p.Where()), p.Value))
		}
	}
	write := true
	var agreed []string
	// Titles are short, and heights are given: a list that is left to find its own
	// takes its title off it, and one with a single host would show none.
	groups := []*huh.Group{
		huh.NewGroup(huh.NewSelect[string]().Title("Template").Options(ids...).Value(&c.template).Height(len(ids) + 1)),
		huh.NewGroup(huh.NewMultiSelect[string]().Title("Presets to add").
			Options(huh.NewOptions(firewall.PresetNames()...)...).Value(&c.presets).Height(10)),
	}
	if len(hosts) > 0 {
		groups = append(groups, huh.NewGroup(huh.NewMultiSelect[string]().Title("Allow which hosts?").
			Description("The project's files name them.").Options(hosts...).Value(&agreed).Height(min(2*len(hosts), 8)+3)))
	}
	// The last question is on a screen of its own: beside another one, a key that
	// is pressed while that still has the focus answers it and passes over this one.
	groups = append(groups,
		huh.NewGroup(huh.NewConfirm().Title("Add a GitHub workflow?").Value(&c.workflow)),
		huh.NewGroup(huh.NewConfirm().Title("Write the dev container?").Value(&write)))
	plain := a.getenv("ACCESSIBLE") != "" || a.getenv("TERM") == "dumb"
	form := huh.NewForm(groups...).WithInput(a.stdin).WithOutput(a.stderr).WithAccessible(plain)
	answered := make(chan error, 1)
	go func() { answered <- form.RunWithContext(ctx) }()
	var err error
	if plain {
		// It waits for a line and hears of nothing else, Ctrl-C included.
		select {
		case err = <-answered:
		case <-ctx.Done():
			return c, context.Cause(ctx)
		}
	} else {
		err = <-answered // when it also has put the terminal right
	}
	switch {
	case ctx.Err() != nil:
		return c, context.Cause(ctx)
	case errors.Is(err, huh.ErrUserAborted) || err == nil && !write:
		return c, exitWith(exitRefused, errors.New("nothing was written"))
	case err != nil:
		return c, exitWith(exitInternal, fmt.Errorf("asking: %w", err))
	}
	c.allow = append(c.allow, agreed...)
	return c, nil
}
