package devfiles

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/ask"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/scaffold"
	"github.com/org/claude-sandbox/workspace"
)

type initOptions struct {
	scaffold.Request
	extend   bool
	noDetect bool
	yes      bool
	dryRun   bool
	force    bool
}

func InitCommand(a *cli.App) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a dev container that holds Claude Code behind the firewall",
		Long: `Write a dev container into DIR/.devcontainer, by default of the current folder.
The files are validated first; either all of them are written or none, and
existing ones are kept unless --force is given.

init proposes a template, the images of the languages in the versions that the
project states, presets and hosts, and says which project file suggested each.
On a terminal it asks; otherwise, and with --yes, it takes the template and
well-known presets. It never allows a host that a project file names without your
word: it lists the host, and --allow adds it.

Files that the host obeys, such as git's hooks and configuration, .vscode, .idea,
.claude and .husky, are read-only inside. Existing ones are mounted over
themselves and must exist wherever the container is created later, so keep them in
the repository. An empty folder covers each missing or empty one. If you later add
files there, run 'init --force' again. 'sbx-devc clean' removes these folders.

Where a dev container exists, init asks whether to extend or to replace it.
--extend keeps it and adds the firewall's Feature, from a copy in
.devcontainer/firewall. It checks the result as 'sbx-devc validate' does, and writes
nothing if the result has an error, gives the agent the container engine or would
not start. A hook that only runs an init-firewall.sh, as in Anthropic's reference
container, is replaced by ours.

In a repository's subfolder init asks whether the repository is meant: git does not
work in a container of a part of it.

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
			err := create(cmd.Context(), a, o, scaffold.Folder(append(args, ".")[0]))
			if err != nil {
				err = exitcode.With(exitcode.Of(err, exitcode.Internal))
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Template, "template", "",
		"template to start from (default: what fits the project, or claude): "+strings.Join(templates.IDs(), ", "))
	f.StringVar(&o.Topology, "topology", "",
		"single: firewall and agent in one container; sidecar: the agent's has no capability (template claude-strict)")
	f.StringArrayVar(&o.Options, "option", nil, "set a template option, KEY=VALUE (repeatable)")
	f.StringArrayVar(&o.Tools, "tools", nil,
		"add the tools of another language, NAME or NAME=IMAGE (repeatable): "+strings.Join(templates.ToolNames(), ", "))
	f.StringSliceVar(&o.Presets, "preset", nil, "add a preset to the allowlist (repeatable): "+strings.Join(firewall.PresetNames(), ", "))
	cli.Entries(f, &o.Allow, "allow", "add an entry to the allowlist (repeatable)")
	f.BoolVar(&o.Workflow, "with-workflow", false, "also write "+templates.WorkflowPath+", which runs Claude with the Action")
	f.BoolVar(&o.extend, "extend", false, "keep the dev container that is there and put the firewall's Feature into it")
	f.BoolVar(&o.noDetect, "no-detect", false, "do not look at the project's files")
	f.BoolVar(&o.yes, "yes", false, "accept the proposals without asking")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the files and the differences instead of writing them")
	f.BoolVar(&o.force, "force", false, "overwrite files that exist")
	return cmd
}

func create(ctx context.Context, a *cli.App, o initOptions, dir scaffold.Folder) error {
	if info, err := os.Stat(string(dir)); err != nil || !info.IsDir() {
		if err == nil {
			err = fmt.Errorf("%s is not a folder", dir)
		}
		return exitcode.With(exitcode.NoInput, diag.WithHint(err, "name the project's folder"))
	}
	if err := workspace.CheckFolder(string(dir)); err != nil {
		return exitcode.With(sandbox.ExitCode(err), err)
	}
	var to *ask.Terminal // nil = do not ask
	if !o.yes && !o.dryRun {
		to = a.Questions()
	}
	if to != nil && dir == "." {
		var err error
		if dir, err = askProject(ctx, to, dir); err != nil {
			return err
		}
	}
	if to != nil && !o.force && !o.extend {
		if err := askExisting(ctx, to, dir, &o); err != nil {
			return err
		}
	}
	var report detect.Report
	if !o.noDetect {
		var err error
		if report, err = detect.Look(string(dir)); err != nil {
			return exitcode.With(exitcode.NoInput, err)
		}
	}
	if o.extend {
		return extend(ctx, a, to, o, dir, report)
	}
	draft, err := propose(ctx, a, to, o, dir, report)
	if err != nil {
		return err
	}
	if o.dryRun {
		return showDraft(a, draft, dir, o.force)
	}
	if to != nil {
		if err := agree(ctx, to, "Write the dev container?"); err != nil {
			return err
		}
	}
	return writeDraft(ctx, a, draft, dir, o.force)
}

// propose drafts the dev container, and says what it is made of and why. to asks about it;
// nil = do not ask.
func propose(ctx context.Context, a *cli.App, to *ask.Terminal, o initOptions, dir scaffold.Folder, report detect.Report) (
	*scaffold.Draft, error) {
	in, err := scaffold.Choose(o.Request, report)
	if err != nil {
		return nil, err
	}
	if to != nil {
		a.Say(scaffold.Reasons(report, in))
		if in, err = askInput(ctx, to, report, o.Request, in); err != nil {
			return nil, err
		}
	}
	draft, err := scaffold.New(dir, in, o.force)
	if err != nil {
		return nil, err
	}
	if !o.dryRun && !o.force { // before anything is proposed that is not going to be written
		if err := draft.Refused(); err != nil {
			return nil, err
		}
	}
	if to == nil {
		a.Say(scaffold.Reasons(report, in))
	}
	a.Say(scaffold.MissingTools(report, in))
	showOpenings(a, draft.Settings)
	return draft, nil
}

// showDraft shows the files that would be written.
func showDraft(a *cli.App, draft *scaffold.Draft, dir scaffold.Folder, force bool) error {
	if err := showFiles(a, dir, draft.Files, "changed, needs --force"); err != nil {
		return err
	}
	if moves := draft.Moves(); moves != "" {
		sayNotes(a, []string{moves})
	}
	if hint := dir.KeepHint(); hint != "" && !force {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: there is a dev container, which --force would replace; %s\n", hint)
	}
	return nil
}

// writeDraft writes the files, and says what to do next.
func writeDraft(ctx context.Context, a *cli.App, draft *scaffold.Draft, dir scaffold.Folder, force bool) error {
	written, notes, err := draft.Write(force)
	if err != nil {
		return err
	}
	if len(written) == 0 {
		fmt.Fprintln(a.Stderr, "sbx-devc: nothing to write: the files are there as they would be written")
	}
	wrote(a, dir, written)
	if len(draft.Services) > 0 {
		notes = append(notes, servicesNote(dir, draft.Network))
	}
	sayNotes(a, notes)
	projects.NoteClosed(a, string(dir))
	own := map[string][]byte{}
	for _, f := range draft.Files {
		own[f.Path] = f.Content
	}
	projects.AcceptWritten(a, string(dir), own, "init")
	loadInit(ctx, a)
	fmt.Fprintln(a.Stderr, "sbx-devc: next:")
	if draft.Network != "" {
		sayServices(a, 48, draft.Services)
	}
	fmt.Fprint(a.Stderr, `  sbx-devc run                                     Claude Code in it, on your terminal; with a "PROMPT" one task
  devcontainer up --workspace-folder .             or "Reopen in Container" in the editor, to work in it yourself
  devcontainer exec --workspace-folder . claude    or claude in the editor's terminal; log in there, once
  sbx-devc allow HOST                              open another host
In another clone 'sbx-devc run' asks once whether to take this; run 'sbx-devc image load' there before 'devcontainer up'.
`+endsContainer)
	return nil
}
