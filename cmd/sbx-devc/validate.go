package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/settings"
)

type validateOptions struct {
	format string
	failOn string
}

func (a *app) validateCommand() *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate [PATH...]",
		Short: "Check devcontainer.json and sandbox.jsonc",
		Long: `Check the syntax, names, types and security of dev container configurations.

PATH is a project folder, a devcontainer.json or a sandbox.jsonc; - reads a
devcontainer.json from standard input. Without PATH it is the current folder.

Findings go to standard output. Exit code 0: nothing at --fail-on or worse;
1: findings; 2: wrong usage; 3: a file could not be read.`,
		Example: `  sbx-devc validate
  sbx-devc validate --format json --fail-on error projects/*
  git show HEAD:.devcontainer/devcontainer.json | sbx-devc validate -`,
		Annotations: map[string]string{annotationChecker: ""},
		RunE:        func(cmd *cobra.Command, args []string) error { return a.validate(cmd.Context(), o, args) },
	}
	cmd.Flags().StringVar(&o.format, "format", "text", "text or json")
	cmd.Flags().StringVar(&o.failOn, "fail-on", string(diag.SeverityWarning), "exit 1 on findings of this severity or worse: error, warning or note")
	return cmd
}

func (a *app) validate(_ context.Context, o validateOptions, paths []string) error {
	write := map[string]func(io.Writer, []diag.Finding) error{"text": diag.WriteText, "json": diag.WriteJSON}[o.format]
	if write == nil {
		return exitWith(exitCheckUsage, diag.WithHint(fmt.Errorf("unknown --format %q", o.format), "accepted: text, json"))
	}
	limit := diag.Severity(o.failOn)
	if !slices.Contains([]diag.Severity{diag.SeverityError, diag.SeverityWarning, diag.SeverityNote}, limit) {
		return exitWith(exitCheckUsage, diag.WithHint(fmt.Errorf("unknown --fail-on %q", o.failOn), "accepted: error, warning, note"))
	}
	if len(paths) == 0 {
		paths = []string{"."}
	}
	var findings []diag.Finding
	files, unreadable := 0, false
	for _, path := range paths {
		found, n, err := a.validatePath(path)
		findings = append(findings, found...)
		files += n
		if err != nil {
			// The other paths still count: one run reports everything.
			unreadable = true
			a.printError(err)
		}
	}
	diag.Sort(findings)
	if err := write(a.stdout, findings); err != nil {
		return exitWith(exitNoCheck, err)
	}
	bad := diag.Worst(findings, limit)
	fmt.Fprintf(a.stderr, "sbx-devc: %s checked, %s, %d at %s or worse\n", count(files, "file"), count(len(findings), "finding"), bad, limit)
	switch {
	case unreadable:
		return exitWith(exitNoCheck, nil)
	case bad > 0:
		return exitWith(exitFindings, nil)
	}
	return nil
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// validatePath checks everything that one argument names.
func (a *app) validatePath(path string) (findings []diag.Finding, files int, err error) {
	if path == "-" {
		src, err := io.ReadAll(io.LimitReader(a.stdin, jsonc.MaxSize+1))
		if err != nil {
			return nil, 0, fmt.Errorf("reading standard input: %w", err)
		}
		return devcontainer.Check(devcontainer.Parse("-", src)), 1, nil
	}
	found, err := devcontainer.Discover(path)
	if err != nil {
		return nil, 0, err
	}
	var failed error
	for _, file := range found {
		if filepath.Base(file) == devcontainer.SettingsName {
			_, more, err := readSettings(file)
			findings, failed, files = append(findings, more...), errors.Join(failed, err), files+1
			continue
		}
		failed = errors.Join(failed, devcontainer.Open(file, func(p *devcontainer.Project) error {
			findings = append(findings, devcontainer.Check(p)...)
			files += len(p.Documents())
			return nil
		}))
	}
	return findings, files, failed
}

// readSettings reads a sandbox.jsonc with the lists that it names.
func readSettings(path string) (*settings.Settings, []diag.Finding, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	s, findings := settings.Parse(path, src, settings.DirReader(filepath.Dir(path)))
	return s, findings, nil
}

// firstError folds findings into one error, for commands that need the file
// rather than check it.
func firstError(findings []diag.Finding) error {
	var b strings.Builder
	for _, f := range findings {
		if f.Severity != diag.SeverityError {
			continue
		}
		if b.Len() == 0 {
			fmt.Fprintf(&b, "%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return errors.New(b.String())
}
