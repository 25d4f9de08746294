package devfiles

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/ask"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/scaffold"
	"github.com/org/claude-sandbox/workspace"
)

// askInput lets the user change what is proposed. Hosts that the project's
// files name start unchecked: agreeing to one is an act.
func askInput(ctx context.Context, to *ask.Terminal, r detect.Report, request scaffold.Request, c lock.Input) (lock.Input, error) {
	var ids []ask.Option
	for _, id := range proposedFirst(templates.IDs(), c.Template) {
		t, err := templates.Load(id)
		if err != nil {
			return c, exitcode.With(exitcode.Internal, err)
		}
		ids = append(ids, ask.Option{Value: id, Label: id + ": " + t.Description})
	}
	var err error
	if request.Template, err = to.One(ctx, "Template", ids, c.Template); err != nil {
		return c, cli.Unanswered(err)
	}
	request.Topology = ""
	if c, err = scaffold.Choose(request, r); err != nil {
		return c, err
	}
	if c.Presets, err = askPresets(ctx, to, r, c); err != nil {
		return c, err
	}
	if err := askAllow(ctx, to, r, &c); err != nil {
		return c, err
	}
	if c.Workflow, err = to.Confirm(ctx, "Add a GitHub workflow?", c.Workflow); err != nil {
		return c, cli.Unanswered(err)
	}
	return c, nil
}

// askPresets asks which lists to add to those of the template, the proposed ones
// first, each with a line about it.
func askPresets(ctx context.Context, to *ask.Terminal, r detect.Report, c lock.Input) ([]string, error) {
	t, err := templates.Load(c.Template)
	if err != nil {
		return nil, exitcode.With(exitcode.Internal, err)
	}
	fixed := t.Presets(c.Options)
	var options []ask.Option
	for _, name := range proposedFirst(firewall.PresetNames(), c.Presets...) {
		if slices.Contains(fixed, name) {
			continue
		}
		about := presetLine(name)
		if i := slices.IndexFunc(r.Presets, func(p detect.Proposal) bool { return p.Value == name }); i >= 0 {
			about = fmt.Sprintf("%s (%s)", r.Presets[i].Reason, r.Presets[i].Where())
		}
		options = append(options, ask.Option{Value: name, Label: name + ": " + about})
	}
	chosen, err := to.Some(ctx, "Presets to add to "+strings.Join(fixed, ", "), options, c.Presets)
	return chosen, cli.Unanswered(err)
}

// presetLine says in at most a line what a preset opens.
func presetLine(name string) string {
	entries, _ := firewall.Preset(name)
	const most = 3
	if len(entries) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(entries[:most], ", "), len(entries)-most)
	}
	return strings.Join(entries, ", ")
}

// proposedFirst returns the values with those that are proposed before the others.
func proposedFirst(values []string, proposed ...string) []string {
	isProposed := func(v string) bool { return slices.Contains(proposed, v) }
	return append(slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !isProposed(v) }),
		slices.DeleteFunc(slices.Clone(values), isProposed)...)
}

// askProject asks whether the repository around the current folder is meant, where git
// would not work in a container of the folder alone.
func askProject(ctx context.Context, to *ask.Terminal, dir scaffold.Folder) (scaffold.Folder, error) {
	full, err := filepath.Abs(string(dir))
	if err != nil {
		return dir, exitcode.With(exitcode.Internal, err)
	}
	above := workspace.RepositoryOf(full)
	if above == "" || above == full || workspace.CheckFolder(above) != nil {
		return dir, nil
	}
	answer, err := to.One(ctx, "This is a part of the repository "+visible.Line(above), []ask.Option{
		{Value: "all", Label: "Write a dev container for all of it"},
		{Value: "part", Label: "Write one for this folder alone, in which git does not work"},
	}, "")
	if err != nil {
		return dir, cli.Unanswered(err)
	}
	if answer == "all" {
		return scaffold.Folder(above), nil
	}
	return dir, nil
}

// askExisting asks what to do where a dev container exists, before anything else
// is asked, and sets the options for the answer.
func askExisting(ctx context.Context, to *ask.Terminal, dir scaffold.Folder, o *initOptions) error {
	there := scaffold.ConfigPath
	extend := ask.Option{Value: "extend", Label: "Extend it: keep it and add the firewall"}
	replace := ask.Option{Value: "replace", Label: "Replace it"}
	stop := ask.Option{Value: "stop", Label: "Stop"}
	var answers []ask.Option
	switch dir.Existing() {
	case scaffold.None:
		return nil
	case scaffold.Ours:
		answers = []ask.Option{stop, replace}
	case scaffold.Foreign:
		answers = []ask.Option{extend, replace, stop}
	case scaffold.Plain:
		there = ".devcontainer.json"
		replace.Label = "Replace it; it stays as .devcontainer.json.old"
		answers = []ask.Option{stop, replace}
	}
	answer, err := to.One(ctx, "There is a dev container: "+there, answers, "")
	if err != nil {
		return cli.Unanswered(err)
	}
	switch answer {
	case "extend":
		o.extend = true
	case "replace":
		o.force = true
	default:
		if hint := dir.KeepHint(); hint != "" {
			return exitcode.With(exitcode.Refused, diag.WithHint(cli.ErrNothingWritten, "%s", hint))
		}
		return exitcode.With(exitcode.Refused, cli.ErrNothingWritten)
	}
	return nil
}

// askAllow asks about the hosts that the project's files name, if they name any
// that are not allowed yet.
func askAllow(ctx context.Context, to *ask.Terminal, r detect.Report, c *lock.Input) error {
	var hosts []ask.Option
	for _, p := range slices.Concat(r.Hosts, r.Services) {
		if !slices.Contains(c.Allow, p.Value) {
			hosts = append(hosts, ask.Option{Value: p.Value, Label: fmt.Sprintf("%s: %s (%s)", p.Value, p.Reason, p.Where())})
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	agreed, err := to.Some(ctx, "Allow which hosts? The project's files name them", hosts, nil)
	c.Allow = append(c.Allow, agreed...)
	c.Private = r.PrivateNames(c.Allow)
	c.Network = r.NetworkOf(c.Private)
	return cli.Unanswered(err)
}

// agree asks the last question; an answer of no is an error.
func agree(ctx context.Context, to *ask.Terminal, question string) error {
	yes, err := to.Confirm(ctx, question, true)
	if err == nil && !yes {
		return exitcode.With(exitcode.Refused, cli.ErrNothingWritten)
	}
	return cli.Unanswered(err)
}
