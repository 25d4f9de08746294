package checks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/manual"
	"github.com/org/claude-sandbox/devcontainer/selection"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/visible"
)

type validateOptions struct {
	choiceFlags
	format        string
	failOn        string // "" = what the project's file says, or warning
	writeBaseline bool
}

func ValidateCommand(a *cli.App) *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate [PATH...]",
		Short: "Check dev container configurations",
		Long: `Check the syntax, names, types and security of dev container configurations:
devcontainer.json with the Dockerfile, Compose files, lock and sandbox.jsonc
that belong to it. "sbx-devc rules" lists the checks.

PATH is a project folder, a devcontainer.json, a Dockerfile, a sandbox.jsonc,
the folder of a Feature or Template, or a repository of those; - reads a
devcontainer.json from standard input. A folder stands for the dev containers below
it, too, as a monorepo has them. Without PATH it is the project around the current
folder: the nearest folder upwards with a dev container, within the repository.

sbx-devc.jsonc in the project or a folder above it chooses rules: docs/checks.md.
Without one, warnings of the categories security, supply-chain and style are notes,
except in a sandbox or an agent's container; "profile": "strict" makes them warnings.

Findings go to standard output; with --format sarif, github or rdjson (for
reviewdog) files are named from the root of the repository (GITHUB_WORKSPACE, or
git's), wherever the program is started. Exit code 0: nothing at --fail-on or worse;
1: findings; 2: wrong usage; 3: a file could not be read.`,
		Example: `  sbx-devc validate
  sbx-devc validate --format json --fail-on error projects/*
  sbx-devc validate --ignore style,SBX601
  sbx-devc validate --write-baseline
  sbx-devc validate --format sarif > devcontainer.sarif
  git show HEAD:.devcontainer/devcontainer.json | sbx-devc validate -`,
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE:        func(cmd *cobra.Command, args []string) error { return validate(cmd.Context(), a, o, args) },
	}
	cmd.Flags().StringVar(&o.format, "format", "text", "text, json, sarif, github or rdjson")
	cmd.Flags().StringVar(&o.failOn, "fail-on", "", "exit 1 on findings of this severity or worse: error, warning or note (default warning)")
	o.add(cmd.Flags())
	cmd.Flags().StringSliceVar(&o.rules, "rule", nil, "check only these `RULE`s, named as for --ignore")
	cmd.Flags().StringVar(&o.policy, "policy", "", "an organisation's policy: a `FILE`, or REGISTRY/NAME@sha256:… (docs/checks.md)")
	cmd.Flags().BoolVar(&o.writeBaseline, "write-baseline", false,
		"write the findings to "+selection.BaselineName+": later runs do not show them")
	cli.Exclusive(cmd, "config", "no-config")
	cli.Exclusive(cmd, "write-baseline", "no-config")
	return cmd
}

func validate(ctx context.Context, a *cli.App, o validateOptions, paths []string) error {
	var errs []diag.Problem
	write, err := findingsWriter(o.format, &errs)
	if err != nil {
		return exitcode.With(exitcode.CheckUsage, err)
	}
	limit := diag.Severity(o.failOn)
	if !slices.Contains([]diag.Severity{"", diag.SeverityError, diag.SeverityWarning, diag.SeverityNote}, limit) {
		return exitcode.With(exitcode.CheckUsage, cli.UnknownValue("fail-on", o.failOn, "error", "warning", "note"))
	}
	choices, err := newChoices(ctx, o.choiceFlags, policies(a))
	if err != nil {
		if code := new(exitcode.Error); o.format == "github" && errors.As(err, &code) && code.Code == exitcode.NoCheck {
			_ = diag.WriteGitHub(a.Stdout, nil, []diag.Problem{cli.Problem(err)}) // standard error says it, too
		}
		return err
	}
	paths = projects.Paths(a, paths)
	if a.Getenv("GOGC") == "" {
		debug.SetGCPercent(lint.GCPercent)
	}
	check := selection.Check{Choices: choices, FailOn: limit, Record: o.writeBaseline}
	unreadable := false
	for _, path := range paths {
		err := checkPath(ctx, a, &check, path)
		if ctx.Err() != nil {
			return ctx.Err() // half a result would look like a whole one
		}
		if err == nil {
			continue
		}
		unreadable = true // the other paths still count: one run reports everything
		for _, err := range each(err) {
			a.PrintError(err)
			problem := cli.Problem(err)
			problem.File = fileOf(err, path)
			errs = append(errs, problem)
		}
	}
	files := &check.Files
	if o.writeBaseline && !unreadable {
		if err := writeBaselines(a, check.Baselines(slices.DeleteFunc(slices.Clone(paths), notFolder)...)); err != nil {
			return exitcode.With(exitcode.NoCheck, err)
		}
	}
	diag.Sort(files.Findings)
	findings, sources := files.Findings, diag.Sources(func(file string) []byte { return files.Sources[file] })
	if slices.Contains([]string{"sarif", "github", "rdjson"}, o.format) {
		at := pathsFor(a, paths)
		findings, sources = at.moved(findings, sources)
		for i, problem := range errs {
			errs[i].File = at.of(problem.File)
		}
	}
	if err := write(a.Stdout, findings, sources); err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	for _, path := range paths {
		if _, err := os.Stat(filepath.Join(path, ".devcontainer", devcontainer.SettingsName)); err == nil {
			projects.NoteClosed(a, path) // it has our sandbox, and so an agent
		}
	}
	fmt.Fprintf(a.Stderr, "sbx-devc: %s checked, %s, %d at %s or worse%s\n", visible.Count(files.Checked, "file"),
		visible.Count(len(files.Findings), "finding"), check.Bad, check.Limit(), notShown(choices))
	if !o.writeBaseline {
		sayBaselines(a, choices, &check)
	}
	switch {
	case unreadable:
		return exitcode.With(exitcode.NoCheck, nil)
	case check.Bad > 0:
		return exitcode.With(exitcode.Findings, nil)
	}
	return nil
}

// sayBaselines names baselines that are not there, and those with findings that are gone.
func sayBaselines(a *cli.App, choices *selection.Choices, check *selection.Check) {
	for _, c := range choices.All() {
		if c.Baseline != "" && c.Known == nil {
			fmt.Fprintf(a.Stderr, "sbx-devc: note: %s names the baseline %s, and there is no such file; --write-baseline writes it\n",
				c.File, visible.Folded(c.Baseline))
		}
	}
	check.Gone(func(baseline string, findings int) {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: %s of %s gone; --write-baseline takes them out\n",
			visible.Count(findings, "known finding"), baseline)
	})
}

// writeBaselines writes what was found as known from now on.
func writeBaselines(a *cli.App, all []selection.NewBaseline) error {
	for _, b := range all {
		if err := atomicfile.WriteBytes(b.File, 0o644, b.Text); err != nil {
			return fmt.Errorf("writing %s: %w", b.File, err)
		}
		kept := ""
		if b.Kept > 0 {
			kept = fmt.Sprintf("; %d of what was not checked stay", b.Kept)
		}
		fmt.Fprintf(a.Stderr, "sbx-devc: %s: %s known from now on%s\n", b.File, visible.Count(b.Findings, "finding"), kept)
	}
	return nil
}

// notFolder reports whether a path names no folder, which stands for all below it.
func notFolder(path string) bool {
	info, err := os.Stat(path)
	return err != nil || !info.IsDir()
}

// findingsWriter is what prints findings in a format; JSON has what is in errs
// by then, too.
func findingsWriter(format string, errs *[]diag.Problem) (func(io.Writer, []diag.Finding, diag.Sources) error, error) {
	switch format {
	case "text":
		return diag.WriteExcerpts, nil
	case "json":
		return func(w io.Writer, f []diag.Finding, _ diag.Sources) error { return diag.WriteJSON(w, f, *errs) }, nil
	case "sarif":
		return func(w io.Writer, f []diag.Finding, s diag.Sources) error {
			return diag.WriteSARIF(w, f, *errs, manual.Tool(), s)
		}, nil
	case "github":
		return func(w io.Writer, f []diag.Finding, _ diag.Sources) error { return diag.WriteGitHub(w, f, *errs) }, nil
	case "rdjson":
		return func(w io.Writer, f []diag.Finding, _ diag.Sources) error {
			return diag.WriteReviewdog(w, manual.Tool(), f, *errs)
		}, nil
	}
	return nil, cli.UnknownValue("format", format, "text", "json", "sarif", "github", "rdjson")
}

// checkPath checks everything that one argument names.
func checkPath(ctx context.Context, a *cli.App, check *selection.Check, path string) error {
	if path == "-" {
		src, err := piped(a)
		if err != nil {
			return err
		}
		return check.Text(ctx, "-", src)
	}
	found, err := discover(a, path)
	if near := new(devcontainer.Misplaced); errors.As(err, &near) {
		return check.Misplaced(ctx, near, diag.HintOf(err))
	}
	return errors.Join(err, check.Open(ctx, found))
}

// discover lists the files that a path names, those of the folders below among them; some may be found beside an error.
func discover(a *cli.App, path string) ([]string, error) {
	found, left, err := devcontainer.DiscoverAll(path)
	for _, note := range left {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: %s\n", visible.Folded(note))
	}
	return found, err
}

// fileOf is the file that an error is about, or else the path that was asked for.
func fileOf(err error, path string) string {
	if place := new(fs.PathError); errors.As(err, &place) {
		return place.Path
	}
	return path
}

// each returns the errors that one joins.
func each(err error) (all []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, err := range joined.Unwrap() {
		all = append(all, each(err)...)
	}
	return all
}

var errTerminal = errors.New("standard input is a terminal")

// piped reads a configuration from standard input, unless that is a terminal.
func piped(a *cli.App) ([]byte, error) {
	if cli.IsTerminal(a.Stdin) {
		return nil, diag.WithHint(errTerminal,
			"let something write into it: git show HEAD:.devcontainer/devcontainer.json | sbx-devc validate -")
	}
	src, err := io.ReadAll(io.LimitReader(a.Stdin, jsonc.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	return src, nil
}
