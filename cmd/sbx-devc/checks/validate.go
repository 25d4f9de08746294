package checks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/manual"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/visible"
)

type validateOptions struct {
	format string
	failOn string
	policy string // file of an organisation's policy; "" = none
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

Findings go to standard output; with --format sarif or github files are named
from the root of the repository (GITHUB_WORKSPACE, or git's), wherever the
program is started. Exit code 0: nothing at --fail-on or worse;
1: findings; 2: wrong usage; 3: a file could not be read.`,
		Example: `  sbx-devc validate
  sbx-devc validate --format json --fail-on error projects/*
  sbx-devc validate --format sarif > devcontainer.sarif
  git show HEAD:.devcontainer/devcontainer.json | sbx-devc validate -`,
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE:        func(cmd *cobra.Command, args []string) error { return validate(cmd.Context(), a, o, args) },
	}
	cmd.Flags().StringVar(&o.format, "format", "text", "text, json, sarif or github")
	cmd.Flags().StringVar(&o.failOn, "fail-on", string(diag.SeverityWarning),
		"exit 1 on findings of this severity or worse: error, warning or note")
	cmd.Flags().StringVar(&o.policy, "policy", "", "an organisation's policy `FILE`: rules for configurations (docs/checks.md)")
	return cmd
}

func validate(ctx context.Context, a *cli.App, o validateOptions, paths []string) error {
	var errs []diag.Problem
	write, err := findingsWriter(o.format, &errs)
	if err != nil {
		return exitcode.With(exitcode.CheckUsage, err)
	}
	limit := diag.Severity(o.failOn)
	if !slices.Contains([]diag.Severity{diag.SeverityError, diag.SeverityWarning, diag.SeverityNote}, limit) {
		return exitcode.With(exitcode.CheckUsage, cli.UnknownValue("fail-on", o.failOn, "error", "warning", "note"))
	}
	paths = projects.Paths(a, paths)
	var files lint.Files
	if o.policy != "" {
		if files.Org, err = org.Read(o.policy); err != nil {
			return exitcode.With(exitcode.NoCheck, err)
		}
	}
	unreadable := false
	for _, path := range paths {
		err := checkPath(ctx, a, &files, path)
		if ctx.Err() != nil {
			return ctx.Err() // half a result would look like a whole one
		}
		if err != nil {
			// The other paths still count: one run reports everything.
			unreadable = true
			a.PrintError(err)
			errs = append(errs, cli.Problem(err))
		}
	}
	diag.Sort(files.Findings)
	findings, sources := files.Findings, diag.Sources(func(file string) []byte { return files.Sources[file] })
	if o.format == "sarif" || o.format == "github" {
		findings, sources = pathsFor(a, paths).moved(findings, sources)
	}
	if err := write(a.Stdout, findings, sources); err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	for _, path := range paths {
		projects.NoteClosed(a, path)
	}
	bad := diag.Worst(files.Findings, limit)
	fmt.Fprintf(a.Stderr, "sbx-devc: %s checked, %s, %d at %s or worse\n",
		visible.Count(files.Checked, "file"), visible.Count(len(files.Findings), "finding"), bad, limit)
	switch {
	case unreadable:
		return exitcode.With(exitcode.NoCheck, nil)
	case bad > 0:
		return exitcode.With(exitcode.Findings, nil)
	}
	return nil
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
			return diag.WriteSARIF(w, f, manual.Tool(), s)
		}, nil
	case "github":
		return func(w io.Writer, f []diag.Finding, _ diag.Sources) error { return diag.WriteGitHub(w, f) }, nil
	}
	return nil, cli.UnknownValue("format", format, "text", "json", "sarif", "github")
}

// checkPath checks everything that one argument names.
func checkPath(ctx context.Context, a *cli.App, files *lint.Files, path string) error {
	if path == "-" {
		src, err := piped(a)
		if err == nil {
			files.Text("-", src)
		}
		return err
	}
	found, err := discover(a, path)
	if err != nil {
		return err
	}
	return files.Open(ctx, found)
}

// discover lists the files that a path names, those of the folders below among them.
func discover(a *cli.App, path string) ([]string, error) {
	found, whole, err := devcontainer.DiscoverAll(path)
	if !whole {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: %s is large: only a part of its folders was searched for dev containers; name the others\n", path)
	}
	return found, err
}

// piped reads a configuration from standard input, and from nobody's keyboard.
func piped(a *cli.App) ([]byte, error) {
	if cli.IsTerminal(a.Stdin) {
		return nil, diag.WithHint(errors.New("standard input is a terminal"),
			"let something write into it: git show HEAD:.devcontainer/devcontainer.json | sbx-devc validate -")
	}
	src, err := io.ReadAll(io.LimitReader(a.Stdin, jsonc.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	return src, nil
}
