package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
)

// configPath is where init writes the configuration, and looks for one.
const configPath = ".devcontainer/devcontainer.json"

// extend puts the firewall Feature into the dev container that is there.
func (a *app) extend(o initOptions, dir string, c choice) error {
	config := readBelow(dir)(configPath)
	if config == nil {
		err := fmt.Errorf("%s: there is no %s to extend", dir, configPath)
		if readBelow(dir)(".devcontainer.json") != nil {
			return exitWith(exitRefused, diag.WithHint(err, "move .devcontainer.json to %s first: only a folder can be made read-only", configPath))
		}
		return exitWith(exitNoInput, diag.WithHint(err, "'sbx-devc init' writes one"))
	}
	if readBelow(dir)(lock.Path) != nil {
		err := fmt.Errorf("%s: 'sbx-devc init' wrote this dev container, and its image raises the firewall itself", dir)
		return exitWith(exitRefused, diag.WithHint(err, "hosts go into %s; 'sbx-devc update' brings the rest up to date", ".devcontainer/"+devcontainer.SettingsName))
	}
	seen, err := templates.Observe(dir)
	if err != nil {
		return exitWith(exitRefused, err)
	}
	if templates.Composed(config) {
		// Nothing is mounted here, so that nothing needs a place, and nothing is
		// covered either.
		missing := strings.Join(seen.Facts.Covered, ", ")
		seen = templates.Observation{Facts: seen.Facts}
		if missing != "" {
			seen.Notes = append(seen.Notes, fmt.Sprintf("with Compose only the service's own lines protect files: what is missing or empty here (%s) the agent can make, where no line of the service's \"tmpfs\" covers it", missing))
		}
	}
	if lacks := templates.FirewallLacks(config, o.presets, o.allow); len(lacks) > 0 {
		err := fmt.Errorf("%s has the firewall already, without %s", filepath.Join(dir, configPath), strings.Join(lacks, ", "))
		return exitWith(exitRefused, diag.WithHint(err, "its options are yours: add them to its presets or allow by hand"))
	}
	base, err := templates.Load("claude")
	if err != nil {
		return exitWith(exitInternal, err)
	}
	presets := []string{base.Value("claudePreset", nil), base.Value("gitPreset", nil), "vscode"}
	text, err := templates.Extend(config, seen.Facts, union(presets, c.presets), c.allow)
	if err != nil {
		return exitWith(exitRefused, err)
	}
	files := []templates.File{{Path: configPath, Content: text}}
	worse := a.noWorse(dir, files)
	if o.dryRun {
		if err := a.showFiles(dir, files, "changed"); err != nil {
			return err
		}
	}
	switch {
	case worse != nil:
		return exitWith(exitRefused, worse)
	case o.dryRun:
		return nil
	case unchanged(dir, files[0]):
		fmt.Fprintf(a.stderr, "sbx-devc: %s has the firewall already\n", filepath.Join(dir, configPath))
		return nil
	}
	if err := writeWithFolders(dir, &seen, files, true); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "sbx-devc: wrote %s\n", filepath.Join(dir, filepath.FromSlash(configPath)))
	for _, n := range seen.Notes {
		fmt.Fprintf(a.stderr, "sbx-devc: note: %s\n", n)
	}
	fmt.Fprintf(a.stderr, "sbx-devc: next: 'sbx-devc validate %s' says what else opens it\n", dir)
	return nil
}

func union(a, b []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range append(a, b...) {
		if !seen[s] {
			out, seen[s] = append(out, s), true
		}
	}
	return out
}

// noWorse refuses files that would bring errors into the dev container that it
// does not have now. It shows each of them: who mends one after the other comes
// back as often.
func (a *app) noWorse(dir string, files []templates.File) error {
	before, after := errorsWith(dir, nil), errorsWith(dir, files)
	if len(after) <= len(before) {
		return nil
	}
	var rules []string
	for _, f := range after {
		a.printError(diag.WithHint(fmt.Errorf("%s:%d: %s [%s]", f.File, f.Line, f.Message, f.Rule), "%s", f.Hint))
		rules = append(rules, f.Rule)
	}
	err := fmt.Errorf("%s: the files would not be valid: %s", dir, strings.Join(rules, ", "))
	return diag.WithHint(err, "nothing was written; --dry-run shows the files, 'sbx-devc validate' what is wrong now")
}

// errorsWith returns the errors of the dev container as it would be with these
// files.
func errorsWith(dir string, files []templates.File) []diag.Finding {
	tree := devcontainer.Memory{}
	entries, _ := os.ReadDir(filepath.Join(dir, ".devcontainer"))
	for _, e := range entries {
		name := ".devcontainer/" + e.Name()
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() <= jsonc.MaxSize {
			tree[name] = string(current(dir, name))
		}
	}
	for _, f := range files {
		tree[f.Path] = string(f.Content)
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
		tree[".git/HEAD"] = ""
	}
	p, err := devcontainer.Load(tree, configPath, configPath)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(devcontainer.Check(p), func(f diag.Finding) bool { return f.Severity != diag.SeverityError })
}
