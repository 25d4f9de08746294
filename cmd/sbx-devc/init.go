package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/templates"
)

type initOptions struct {
	template string
	options  []string
	presets  []string
	allow    []string
	dryRun   bool
	force    bool
}

func (a *app) initCommand() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a dev container that holds Claude Code behind the firewall",
		Long: `Write .devcontainer/{devcontainer.json,Dockerfile,sandbox.jsonc} into DIR, by
default the current folder. What is written has been validated; either all
files are written or none, and existing ones are kept unless --force is given.

What acts on the host, such as git's hooks and configuration, .vscode, .idea,
.claude and .husky, is read-only inside. What exists is mounted over itself, and
must exist wherever the container is created later, so keep it in the repository.
What is missing or empty is covered by an empty folder; run init again with
--force after it comes to hold something.

Exit code 0: written; 64: wrong usage; 66: DIR is missing; 70: the files could
not be written; 77: files are in the way.`,
		Example: `  sbx-devc init
  sbx-devc init --preset npm --allow docs.example.com --dry-run
  sbx-devc init projects/api --option baseImage=debian:trixie-slim --force`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.init(cmd.Context(), o, append(args, ".")[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.template, "template", "claude", "template to start from: "+strings.Join(templates.IDs(), ", "))
	f.StringArrayVar(&o.options, "option", nil, "set a template option, KEY=VALUE (repeatable)")
	f.StringSliceVar(&o.presets, "preset", nil, "add a preset to the allowlist (repeatable): "+strings.Join(firewall.PresetNames(), ", "))
	f.StringSliceVar(&o.allow, "allow", nil, "add an entry to the allowlist (repeatable)")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the files instead of writing them")
	f.BoolVar(&o.force, "force", false, "overwrite files that exist")
	f.Bool("yes", false, "take every default without asking; this version asks nothing")
	return cmd
}

func (a *app) init(_ context.Context, o initOptions, dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if err == nil {
			err = fmt.Errorf("%s is not a folder", dir)
		}
		return exitWith(exitNoInput, diag.WithHint(err, "name the project's folder"))
	}
	seen, err := templates.Observe(dir)
	if err != nil {
		return exitWith(exitRefused, err)
	}
	files, err := render(o, seen.Facts)
	if err != nil {
		return err
	}
	if err := checkRendered(files, len(seen.Facts.Pinned) > 0); err != nil {
		return err
	}
	existing, err := templates.InTheWay(dir, files)
	if err != nil {
		return exitWith(exitRefused, err)
	}
	if o.dryRun {
		return a.showFiles(dir, files, existing)
	}
	if len(existing) > 0 && !o.force {
		err := fmt.Errorf("%s: %s %w", dir, strings.Join(existing, ", "), templates.ErrExists)
		return exitWith(exitRefused, diag.WithHint(err, "look at the changes with --dry-run, overwrite with --force"))
	}
	if seen.NoHooks {
		// The mount needs a source; an empty folder is what git init makes.
		if err := templates.EnsureHooks(dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return exitWith(exitInternal, err)
		}
		seen.Notes = append(seen.Notes, "made an empty .git/hooks, so that it can be protected")
	}
	if len(seen.NoFolders) > 0 {
		if err := templates.EnsureFolders(dir, seen.NoFolders); err != nil {
			return exitWith(exitInternal, err)
		}
		seen.Notes = append(seen.Notes, fmt.Sprintf("made empty folders that the container keeps empty: %s", strings.Join(seen.NoFolders, ", ")))
	}
	if err := templates.WriteFiles(dir, files, o.force); err != nil {
		return exitWith(exitInternal, fmt.Errorf("writing into %s: %w", dir, err))
	}
	a.initSummary(dir, files, seen.Notes)
	return nil
}

// render makes the files from the template and the flags. Everything that it
// refuses came from the command line.
func render(o initOptions, facts templates.Facts) ([]templates.File, error) {
	usage := func(err error) ([]templates.File, error) { return nil, exitWith(exitUsage, err) }
	t, err := templates.Load(o.template)
	if err != nil {
		return usage(err)
	}
	values := map[string]string{}
	for _, pair := range o.options {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return usage(diag.WithHint(fmt.Errorf("--option %s has no value", pair), "write --option KEY=VALUE"))
		}
		values[key] = value
	}
	for _, entry := range append(o.presets, o.allow...) {
		if strings.HasPrefix(entry, "@") {
			return usage(diag.WithHint(fmt.Errorf("%q: init takes entries, not list files", entry), "write it into sandbox.jsonc afterwards"))
		}
	}
	if _, bad := firewall.NewPolicy(firewall.Network{Presets: o.presets, Allow: o.allow}); len(bad) > 0 {
		flag := map[string]string{"presets": "--preset", "allow": "--allow"}[bad[0].List]
		return usage(diag.WithHint(fmt.Errorf("%s: %s", flag, bad[0].Message), "%s", bad[0].Hint))
	}
	files, err := t.Render(values)
	if errors.Is(err, templates.ErrOption) {
		return usage(err)
	}
	if err == nil {
		files, err = templates.Adapt(files, facts, o.presets, o.allow)
	}
	if err != nil {
		return nil, exitWith(exitInternal, err)
	}
	return files, nil
}

// checkRendered validates the files before they are written: a template or an
// option must not be able to produce what validate would refuse.
func checkRendered(files []templates.File, git bool) error {
	findings, err := templates.Check(files, git)
	if err != nil {
		return exitWith(exitInternal, err)
	}
	for _, f := range findings {
		if f.Severity.AtLeast(diag.SeverityWarning) {
			err := fmt.Errorf("the rendered %s is not valid: line %d: %s [%s]", f.File, f.Line, f.Message, f.Rule)
			return exitWith(exitInternal, diag.WithHint(err, "nothing was written; this is a defect of the template"))
		}
	}
	return nil
}

// showFiles prints what would be written, with a header line for each file.
func (a *app) showFiles(dir string, files []templates.File, existing []string) error {
	var out bytes.Buffer
	for _, f := range files {
		state := "new"
		for _, e := range existing {
			if e != f.Path {
				continue
			}
			state = "overwrites the existing file, needs --force"
			if old, err := os.ReadFile(filepath.Join(dir, f.Path)); err == nil && bytes.Equal(old, f.Content) {
				state = "unchanged"
			}
		}
		fmt.Fprintf(&out, "==> %s (%s)\n%s\n", f.Path, state, f.Content)
	}
	_, err := a.stdout.Write(out.Bytes())
	fmt.Fprintln(a.stderr, "sbx-devc: dry run, nothing was written")
	return err
}

func (a *app) initSummary(dir string, files []templates.File, notes []string) {
	for _, f := range files {
		fmt.Fprintf(a.stderr, "sbx-devc: wrote %s\n", filepath.Join(dir, filepath.FromSlash(f.Path)))
	}
	for _, n := range notes {
		fmt.Fprintf(a.stderr, "sbx-devc: note: %s\n", n)
	}
	fmt.Fprint(a.stderr, `sbx-devc: next:
  sbx-devc image load               put sbx-init where the Dockerfile takes it from
  code . (or: devcontainer up)      then "Reopen in Container"
  sbx-devc policy check HOST        ask what is allowed; edit .devcontainer/sandbox.jsonc and rebuild
`)
}
