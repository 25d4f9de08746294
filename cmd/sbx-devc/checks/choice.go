package checks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/devcontainer/selection"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/workspace"
)

// choiceFlags are the flags that choose rules.
type choiceFlags struct {
	config   string // FILE or FILE#POINTER; "" = the nearest sbx-devc.jsonc
	noConfig bool
	rules    []string
	ignore   []string
	policy   string // an organisation's policy: a file, or a name by digest in a registry
}

func (o *choiceFlags) add(f *pflag.FlagSet) {
	f.StringVar(&o.config, "config", "", "read the choice of rules from `FILE` or FILE#POINTER, not from the nearest "+selection.FileName)
	f.BoolVar(&o.noConfig, "no-config", false, "read no "+selection.FileName+" and no baseline")
	f.StringSliceVar(&o.ignore, "ignore", nil, "leave out these `RULE`s: an id, a name, a family (SBX4xx) or a category (style)")
}

// choices finds the choice of rules for each file of one run.
type choices struct {
	flags choiceFlags
	org   *org.Policy // that of the flag; nil = none
	fetch func(ctx context.Context, name string) (*org.Policy, error)
	run   *selection.Run
	dirs  map[string]*choice
	all   []*choice // each once
}

// choice is what holds for the files of one folder.
type choice struct {
	*selection.Selection
	known *selection.Baseline
	org   *org.Policy
	run   *selection.Run
}

func newChoices(ctx context.Context, a *cli.App, o choiceFlags) (*choices, error) {
	c := &choices{flags: o, dirs: map[string]*choice{}}
	c.fetch = func(ctx context.Context, name string) (*org.Policy, error) { return readPolicy(ctx, a, name) }
	if o.policy != "" {
		policy, err := c.fetch(ctx, o.policy)
		if err != nil {
			return nil, exitcode.With(exitcode.NoCheck, err)
		}
		c.org = policy
	}
	var err error
	if c.run, err = selection.NewRun(o.rules, o.ignore, c.org); errors.Is(err, selection.ErrPolicy) {
		return nil, exitcode.With(exitcode.NoCheck, err)
	} else if err != nil {
		return nil, exitcode.With(exitcode.CheckUsage, err)
	}
	return c, nil
}

// of returns the choice for a file.
func (c *choices) of(ctx context.Context, file string) (*choice, error) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	if c.flags.config != "" || c.flags.noConfig {
		dir = ""
	}
	if found := c.dirs[dir]; found != nil {
		return found, nil
	}
	found, err := c.find(ctx, dir)
	if err != nil {
		return nil, err
	}
	c.dirs[dir] = found
	for _, other := range c.all {
		if other.File == found.File && other.Root == found.Root { // one file has one baseline to take from
			c.dirs[dir] = other
			return other, nil
		}
	}
	c.all = append(c.all, found)
	return found, nil
}

func (c *choices) find(ctx context.Context, dir string) (_ *choice, err error) {
	found := &choice{org: c.org, run: c.run}
	switch {
	case c.flags.config != "":
		found.Selection, found.known, err = selection.Read(c.flags.config)
	case c.flags.noConfig:
		here, _ := os.Getwd()
		found.Selection = selection.Default(here)
	default:
		found.Selection, found.known, err = selection.Find(dir, topOf(dir))
	}
	if err != nil || found.Policy == "" || c.org != nil {
		return found, err
	}
	name := found.Policy
	if !strings.Contains(name, "@sha256:") {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, diag.WithHint(fmt.Errorf("%s: the policy %s lies outside its folder", found.File, name), "name it with --policy")
		}
		name = filepath.Join(found.Root, filepath.FromSlash(name))
	}
	if found.org, err = c.fetch(ctx, name); err != nil {
		return nil, err
	}
	found.run, err = selection.NewRun(c.flags.rules, c.flags.ignore, found.org)
	return found, err
}

// topOf is the last folder in which a file about rules is looked for: the repository, or
// the current folder, or else the project's own.
func topOf(dir string) string {
	if root := workspace.RepositoryOf(dir); root != "" {
		return root
	}
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, dir); err == nil && filepath.IsLocal(rel) {
			return here
		}
	}
	for _, up := range []string{dir, filepath.Dir(dir)} {
		if filepath.Base(up) == ".devcontainer" {
			return filepath.Dir(up)
		}
	}
	return dir
}

// judge is what lint asks about each finding.
func (c *choice) judge(f diag.Finding, contained bool) (diag.Finding, bool) {
	return c.run.Judge(c.Selection, c.known, contained, f)
}

// chosen is judge without the baseline: known findings are corrected, too.
func (c *choice) chosen(f diag.Finding, contained bool) (diag.Finding, bool) {
	return c.run.Judge(c.Selection, nil, contained, f)
}

// baselineFile is where the baseline of a choice is written.
func (c *choice) baselineFile() string {
	name := selection.BaselineName
	if c.Baseline != "" {
		name = filepath.FromSlash(c.Baseline)
	}
	return filepath.Join(c.Root, name)
}

// notShown tells of findings that a choice keeps back; "" when there are none.
func (c *choices) notShown() string {
	off, known := 0, 0
	seen := []*selection.Run{}
	for _, found := range c.all {
		if !slices.Contains(seen, found.run) {
			seen = append(seen, found.run)
			off, known = off+found.run.Off, known+found.run.Known
		}
	}
	var parts []string
	if off > 0 {
		parts = append(parts, fmt.Sprintf("%d switched off", off))
	}
	if known > 0 {
		parts = append(parts, fmt.Sprintf("%d known", known))
	}
	if parts == nil {
		return ""
	}
	return "; not shown: " + strings.Join(parts, ", ")
}
