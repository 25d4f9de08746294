package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"charm.land/huh/v2"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/lock"
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
	write := true
	var agreed []string
	// Titles are short, and heights are given: a list that is left to find its own
	// takes its title off it, and one with a single host would show none.
	groups := []*huh.Group{
		huh.NewGroup(huh.NewSelect[string]().Title("Template").Options(ids...).Value(&c.template).Height(len(ids) + 1)),
		huh.NewGroup(huh.NewMultiSelect[string]().Title("Presets to add").
			Options(huh.NewOptions(firewall.PresetNames()...)...).Value(&c.presets).Height(10)),
	}
	groups = append(groups, hostQuestion(r, c, &agreed)...)
	// The last question is on a screen of its own: beside another one, a key that
	// is pressed while that still has the focus answers it and passes over this one.
	groups = append(groups,
		huh.NewGroup(huh.NewConfirm().Title("Add a GitHub workflow?").Value(&c.workflow)),
		huh.NewGroup(huh.NewConfirm().Title("Write the dev container?").Value(&write)))
	if err := a.ask(ctx, groups, &write); err != nil {
		return c, err
	}
	c.allow = append(c.allow, agreed...)
	return c, nil
}

// askExisting asks what to do where a dev container exists, before anything else
// is asked, and sets the options for the answer.
func (a *app) askExisting(ctx context.Context, dir string, o *initOptions) error {
	there := configPath
	answers := []huh.Option[string]{huh.NewOption("Extend it: keep it and add the firewall", "extend"), huh.NewOption("Replace it", "replace"), huh.NewOption("Stop", "stop")}
	switch {
	case current(dir, lock.Path) != nil: // init wrote it
		answers = slices.Concat(answers[2:], answers[1:2])
	case current(dir, configPath) != nil:
	case current(dir, ".devcontainer.json") != nil:
		there = ".devcontainer.json"
		answers = slices.Concat(answers[2:], []huh.Option[string]{huh.NewOption("Write another beside it", "replace")})
	default:
		return nil
	}
	answer, yes := "", true
	question := huh.NewSelect[string]().Title("There is a dev container: " + there).Options(answers...).Value(&answer).Height(len(answers) + 1)
	// It is asked line by line: keys pressed between two forms on a screen go to
	// the one that has ended.
	if err := a.askPlain(ctx, []*huh.Group{huh.NewGroup(question)}, &yes, true); err != nil {
		return err
	}
	switch answer {
	case "extend":
		o.extend = true
	case "replace":
		o.force = true
	default:
		err := errors.New("nothing was written")
		if hint := existingHint(dir); hint != "" {
			err = diag.WithHint(err, "%s", hint)
		}
		return exitWith(exitRefused, err)
	}
	return nil
}

// askHosts asks which hosts to allow, and whether to write the files of a dev
// container that is kept.
func (a *app) askHosts(ctx context.Context, r detect.Report, c choice) (choice, error) {
	write := true
	var agreed []string
	groups := append(hostQuestion(r, c, &agreed), huh.NewGroup(huh.NewConfirm().Title("Put the firewall into this dev container?").Value(&write)))
	if err := a.ask(ctx, groups, &write); err != nil {
		return c, err
	}
	c.allow = append(c.allow, agreed...)
	return c, nil
}

// hostQuestion asks about the hosts that the project's files name; there is none
// when they name none.
func hostQuestion(r detect.Report, c choice, agreed *[]string) []*huh.Group {
	var hosts []huh.Option[string]
	for _, p := range r.Hosts {
		if !slices.Contains(c.allow, p.Value) {
			hosts = append(hosts, huh.NewOption(fmt.Sprintf("%s: %s (%s)", p.Value, p.Reason, p.Where()), p.Value))
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	return []*huh.Group{huh.NewGroup(huh.NewMultiSelect[string]().Title("Allow which hosts?").
		Description("The project's files name them.").Options(hosts...).Value(agreed).Height(min(2*len(hosts), 8) + 3))}
}

// ask shows the questions one after the other. The error says that somebody
// stopped, or answered no to write.
func (a *app) ask(ctx context.Context, groups []*huh.Group, write *bool) error {
	return a.askPlain(ctx, groups, write, a.getenv("ACCESSIBLE") != "" || a.getenv("TERM") == "dumb")
}

// askPlain is ask, line by line when plain is set.
func (a *app) askPlain(ctx context.Context, groups []*huh.Group, write *bool, plain bool) error {
	form := huh.NewForm(groups...).WithInput(a.stdin).WithOutput(a.stderr).WithAccessible(plain)
	answered := make(chan error, 1)
	go func() { answered <- form.RunWithContext(ctx) }()
	var err error
	if plain {
		// It waits for a line and hears of nothing else, Ctrl-C included.
		select {
		case err = <-answered:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	} else {
		err = <-answered // when it also has put the terminal right
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, huh.ErrUserAborted) || err == nil && !*write:
		return exitWith(exitRefused, errors.New("nothing was written"))
	case err != nil:
		return exitWith(exitInternal, fmt.Errorf("asking: %w", err))
	}
	return nil
}
