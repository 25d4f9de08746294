package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/ask"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/lock"
)

type initOptions struct {
	template string
	topology string
	options  []string
	presets  []string
	allow    []string
	workflow bool
	extend   bool
	noDetect bool
	yes      bool
	dryRun   bool
	force    bool
}

func (a *app) initCommand() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a dev container that holds Claude Code behind the firewall",
		Long: `Write a dev container into DIR/.devcontainer, by default of the current folder.
What is written has been validated; either all files are written or none, and
existing ones are kept unless --force is given.

Languages, package managers, remotes and MCP servers of the project decide what
is proposed, each with the file that says so. On a terminal you are asked;
otherwise, and with --yes, the template and well-known presets are taken. A host
that a file of the project names is never allowed without your word: it is
listed, and --allow adds it.

What acts on the host, such as git's hooks and configuration, .vscode, .idea,
.claude and .husky, is read-only inside. What exists is mounted over itself, and
must exist wherever the container is created later, so keep it in the repository.
What is missing or empty is covered by an empty folder; run init again with
--force after it comes to hold something. 'sbx-devc clean' removes these folders.

Where a dev container exists you are asked whether to extend or to replace it.
--extend keeps it and puts the firewall's Feature into it, from a copy in
.devcontainer/firewall. What it would write is judged as 'sbx-devc validate'
does, and nothing is written when that has an error, gives the agent the
container engine or would not start. A hook that only runs an init-firewall.sh, as
in Anthropic's reference container, is replaced by ours.

Your home folder, / and the system's folders are refused.

Exit code 0: written; 64: wrong usage; 66: DIR is missing; 73: the files could
not be written; 77: files are in the way, or you said no. Nothing is written
unless the code is 0.`,
		Example: `  sbx-devc init
  sbx-devc init --yes --preset npm --allow docs.example.com --dry-run
  sbx-devc init projects/api --template claude-go --option goImage=golang:1.25-bookworm --force
  sbx-devc init --topology sidecar --with-workflow
  sbx-devc init --extend --dry-run`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.init(cmd.Context(), o, append(args, ".")[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.template, "template", "", "template to start from (default: what fits the project, or claude): "+strings.Join(templates.IDs(), ", "))
	f.StringVar(&o.topology, "topology", "", "single: firewall and agent in one container; sidecar: the agent's has no capability (template "+strictTemplate+")")
	f.StringArrayVar(&o.options, "option", nil, "set a template option, KEY=VALUE (repeatable)")
	f.StringSliceVar(&o.presets, "preset", nil, "add a preset to the allowlist (repeatable): "+strings.Join(firewall.PresetNames(), ", "))
	f.StringSliceVar(&o.allow, "allow", nil, "add an entry to the allowlist (repeatable)")
	f.BoolVar(&o.workflow, "with-workflow", false, "also write "+templates.WorkflowPath+", which runs Claude with the Action")
	f.BoolVar(&o.extend, "extend", false, "keep the dev container that is there and put the firewall's Feature into it")
	f.BoolVar(&o.noDetect, "no-detect", false, "do not look at the project's files")
	f.BoolVar(&o.yes, "yes", false, "take what is proposed without asking")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the files and the differences instead of writing them")
	f.BoolVar(&o.force, "force", false, "overwrite files that exist")
	return cmd
}

func (a *app) init(ctx context.Context, o initOptions, dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if err == nil {
			err = fmt.Errorf("%s is not a folder", dir)
		}
		return exitWith(exitNoInput, diag.WithHint(err, "name the project's folder"))
	}
	if err := sandbox.CheckFolder(dir); err != nil {
		return runError(err)
	}
	var to *ask.Terminal // nil = ask nobody
	if !o.yes && !o.dryRun {
		to = a.questions()
	}
	if to != nil && !o.force && !o.extend {
		if err := askExisting(ctx, to, dir, &o); err != nil {
			return err
		}
	}
	var report detect.Report
	if !o.noDetect {
		var err error
		if report, err = detect.Look(dir); err != nil {
			return exitWith(exitNoInput, err)
		}
	}
	c, err := o.choose(report)
	if err != nil {
		return exitWith(exitUsage, err)
	}
	if o.extend {
		report.Template = detect.Proposal{}
		return a.extend(ctx, to, o, dir, report, c)
	}
	a.showReport(report, c)
	if to != nil {
		if c, err = askChoice(ctx, to, report, c); err != nil {
			return err
		}
	}
	seen, err := templates.Observe(dir)
	if err != nil {
		return exitWith(exitRefused, err)
	}
	files, err := c.render(seen.Facts)
	if err == nil && !templates.MountsWorkspace(files) {
		if seen.GitFile {
			err := fmt.Errorf("%s cannot be cloned: its .git is a file (a linked worktree or a submodule), and the repository that it names stays outside", dir)
			return exitWith(exitNoInput, diag.WithHint(err, "make a clone of its own with 'git clone', or use --topology single"))
		}
		seen = templates.Observation{} // nothing of the project is mounted writable
		files, err = c.render(seen.Facts)
	}
	if err != nil {
		return err
	}
	if err := checkRendered(files, len(seen.Facts.Pinned) > 0, len(c.options) > 0); err != nil {
		return err
	}
	if _, err := templates.InTheWay(dir, files); err != nil {
		return exitWith(exitRefused, err)
	}
	a.showTools(report, c)
	if readBelow(dir)(".devcontainer.json") != nil && !o.force {
		err := fmt.Errorf("%s: .devcontainer.json %w", dir, templates.ErrExists)
		return exitWith(exitRefused, diag.WithHint(err, "move it to %s and use --extend, or write another beside it with --force", configPath))
	}
	if o.dryRun {
		if err := a.showFiles(dir, files, "changed, needs --force"); err != nil {
			return err
		}
		if hint := existingHint(dir); hint != "" && !o.force {
			fmt.Fprintf(a.stderr, "sbx-devc: note: there is a dev container, which --force would replace; %s\n", hint)
		}
		return nil
	}
	// What is there already in just this form is in nobody's way.
	files = slices.DeleteFunc(files, func(f templates.File) bool { return unchanged(dir, f) })
	existing, err := templates.InTheWay(dir, files)
	if err != nil {
		return exitWith(exitRefused, err)
	}
	if len(existing) > 0 && !o.force {
		err := fmt.Errorf("%s: %s %w", dir, strings.Join(existing, ", "), templates.ErrExists)
		hint := "look at the changes with --dry-run, overwrite with --force"
		if keep := existingHint(dir); keep != "" {
			hint += "; " + keep
		}
		return exitWith(exitRefused, diag.WithHint(err, "%s", hint))
	}
	if err := writeWithFolders(dir, &seen, files, o.force); err != nil {
		return err
	}
	a.initSummary(dir, files, seen.Notes)
	return nil
}

// existingHint says how to keep the dev container that is in dir; "" when there
// is none.
func existingHint(dir string) string {
	switch {
	case current(dir, lock.Path) != nil:
		return "'sbx-devc update' keeps your edits"
	case current(dir, configPath) != nil:
		return "--extend keeps this dev container and adds the firewall to it"
	}
	return ""
}

// writeWithFolders writes the files and makes the folders that their mounts
// need: all of it or nothing.
func writeWithFolders(dir string, seen *templates.Observation, files []templates.File, overwrite bool) error {
	undo, err := prepare(dir, seen)
	if err == nil {
		if err = templates.WriteFiles(dir, files, overwrite); err != nil {
			undo()
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, templates.ErrExists):
		return exitWith(exitRefused, err)
	}
	return exitWith(exitCantWrite, fmt.Errorf("writing into %s: %w", dir, err))
}

// prepare makes the folders that mounts need, and notes which; undo takes them
// away again.
func prepare(dir string, seen *templates.Observation) (undo func(), err error) {
	if undo, err = seen.EnsureFolders(dir); err != nil {
		return nil, err
	}
	if seen.NoHooks {
		seen.Notes = append(seen.Notes, "made an empty .git/hooks, so that it can be protected")
	}
	if len(seen.NoFolders) > 0 {
		seen.Notes = append(seen.Notes, fmt.Sprintf("made empty folders (%s): programs on this machine would obey what an agent writes there, so the container covers them; "+
			"git shows none of them, and 'sbx-devc clean' removes them when you no longer use the dev container", strings.Join(seen.NoFolders, ", ")))
	}
	return undo, nil
}

// strictTemplate is the one whose firewall has a container of its own.
const strictTemplate = "claude-strict"

// choice is what is going to be written.
type choice struct {
	template string
	options  map[string]string
	presets  []string
	allow    []string
	workflow bool
}

// choose joins what the flags say with what the project speaks for. Flags win;
// of the project only the template and well-known presets count.
func (o initOptions) choose(report detect.Report) (choice, error) {
	c := choice{template: o.template, options: map[string]string{}, presets: slices.Clone(o.presets), allow: slices.Clone(o.allow), workflow: o.workflow}
	switch settings.Topology(o.topology) {
	case "":
	case settings.TopologySingle:
		if c.template == strictTemplate {
			return c, diag.WithHint(errors.New("--topology single: the template "+strictTemplate+" has two containers"), "choose another --template")
		}
	case settings.TopologySidecar:
		if c.template != "" && c.template != strictTemplate {
			return c, diag.WithHint(fmt.Errorf("--topology sidecar: the template %s has one container", c.template), "only %s has two", strictTemplate)
		}
		c.template = strictTemplate
	default:
		return c, unknownValue("topology", o.topology, "single", "sidecar")
	}
	if c.template == "" {
		c.template = report.Template.Value
	}
	if c.template == "" {
		c.template = "claude"
	}
	if err := setOptions(c.options, o.options); err != nil {
		return c, err
	}
	for _, entry := range slices.Concat(o.presets, o.allow) {
		if strings.HasPrefix(entry, "@") {
			return c, diag.WithHint(fmt.Errorf("%q: init takes entries, not list files", entry), "write it into sandbox.jsonc afterwards")
		}
	}
	if _, bad := firewall.NewPolicy(firewall.Network{Presets: o.presets, Allow: o.allow}); len(bad) > 0 {
		flag := map[string]string{"presets": "--preset", "allow": "--allow"}[bad[0].List]
		return c, diag.WithHint(fmt.Errorf("%s: %s", flag, bad[0].Message), "%s", bad[0].Hint)
	}
	for _, p := range report.Presets {
		if !slices.Contains(c.presets, p.Value) {
			c.presets = append(c.presets, p.Value)
		}
	}
	return c, nil
}

// setOptions reads the pairs of --option.
func setOptions(to map[string]string, pairs []string) error {
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return diag.WithHint(fmt.Errorf("--option %s has no value", pair), "write --option KEY=VALUE")
		}
		to[key] = value
	}
	return nil
}

// input is what the template is asked for.
func (c choice) input(facts templates.Facts) lock.Input {
	return lock.Input{Template: c.template, Options: c.options, Presets: c.presets, Allow: c.allow, Facts: facts, Workflow: c.workflow}
}

// render makes the files, with the lock that describes them. Options that it
// refuses came from the command line.
func (c choice) render(facts templates.Facts) ([]templates.File, error) {
	l, files, err := lock.New(c.input(facts), carried.Sums())
	if errors.Is(err, templates.ErrOption) || errors.Is(err, templates.ErrUnknown) {
		return nil, exitWith(exitUsage, err)
	}
	if err != nil {
		return nil, exitWith(exitInternal, err)
	}
	files = append(files, templates.File{Path: lock.Path, Content: l.Encode()})
	slices.SortFunc(files, func(a, b templates.File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// checkRendered validates the files before they are written: a template or an
// option must not be able to produce what validate would refuse. The template
// on its own is tested, so chosen options are the reason where there are some.
func checkRendered(files []templates.File, git, chosen bool) error {
	findings, err := templates.Check(files, git)
	if err != nil {
		return exitWith(exitInternal, err)
	}
	for _, f := range findings {
		if chosen && f.Rule == "SBX822" {
			continue // a mirror of the init image, by whoever runs this; validate asks for the reason
		}
		if f.Severity.AtLeast(diag.SeverityWarning) {
			err := fmt.Errorf("the rendered %s is not valid: line %d: %s [%s]", f.File, f.Line, f.Message, f.Rule)
			if chosen {
				return exitWith(exitUsage, diag.WithHint(err, "nothing was written; an --option makes it so. %s", f.Hint))
			}
			return exitWith(exitInternal, diag.WithHint(err, "nothing was written; this is a defect of the template"))
		}
	}
	return nil
}
