package selection

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/internal/diag"
)

// Options are what a person says about the choice of rules, for all files of one run.
type Options struct {
	Config   string   // FILE or FILE#POINTER, see Read; "" = the nearest sbx-devc.jsonc
	NoConfig bool     // read no sbx-devc.jsonc and no baseline
	Rules    []string // as NewRun has only
	Ignore   []string // as NewRun has ignored
	Policy   *org.Policy

	// Fetch reads the policy that a project's file names: a file, or a name by digest in a
	// registry. It is asked where Policy is nil, and may return nil.
	Fetch func(ctx context.Context, name string) (*org.Policy, error)

	// Top is the last folder, from an absolute one upwards, in which a file is looked for.
	Top func(dir string) string
}

// Choices finds the choice of rules for each file of one run. It is not safe for
// concurrent use.
type Choices struct {
	options Options
	run     *Run
	dirs    map[string]*Choice
	all     []*Choice // each once
}

// Choice is what holds for the files of one folder.
type Choice struct {
	*Selection
	Known *Baseline   // nil = there is none
	Org   *org.Policy // nil = there is none
	run   *Run
}

// NewChoices errs as NewRun does.
func NewChoices(o Options) (*Choices, error) {
	run, err := NewRun(o.Rules, o.Ignore, o.Policy)
	if err != nil {
		return nil, err
	}
	return &Choices{options: o, run: run, dirs: map[string]*Choice{}}, nil
}

// Of returns the choice for a file.
func (c *Choices) Of(ctx context.Context, file string) (*Choice, error) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	if c.options.Config != "" || c.options.NoConfig {
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

func (c *Choices) find(ctx context.Context, dir string) (_ *Choice, err error) {
	found := &Choice{Org: c.options.Policy, run: c.run}
	switch {
	case c.options.Config != "":
		found.Selection, found.Known, err = Read(c.options.Config)
	case c.options.NoConfig:
		here, _ := os.Getwd()
		found.Selection = Default(here)
	default:
		found.Selection, found.Known, err = Find(dir, c.options.Top(dir))
	}
	if err != nil || found.Policy == "" || c.options.Policy != nil {
		return found, err
	}
	name := found.Policy
	if !strings.Contains(name, "@sha256:") {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, diag.WithHint(fmt.Errorf("%s: the policy %s lies outside its folder", found.File, name), "name it with --policy")
		}
		name = filepath.Join(found.Root, filepath.FromSlash(name))
	}
	found.Org, err = c.options.Fetch(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, diag.WithHint(fmt.Errorf("%s names the policy %s, and there is no such file", found.File, found.Policy),
			"write it, or take \"policy\" out of %s", found.File)
	case err != nil:
		return nil, err
	}
	found.run, err = NewRun(c.options.Rules, c.options.Ignore, found.Org)
	return found, err
}

// All are the choices that Of returned, each once.
func (c *Choices) All() []*Choice { return c.all }

// NotShown counts the findings that the choices kept back: rules that are switched off,
// and findings of a baseline.
func (c *Choices) NotShown() (off, known int) {
	var seen []*Run
	for _, found := range c.all {
		if !slices.Contains(seen, found.run) {
			seen = append(seen, found.run)
			off, known = off+found.run.Off, known+found.run.Known
		}
	}
	return off, known
}

// Holds reports whether the organisation's policy holds a rule.
func (c *Choice) Holds(id string) bool { return c.run.Holds(id) }

// Judge is Run.Judge by this choice.
func (c *Choice) Judge(f diag.Finding, contained bool) (diag.Finding, bool) {
	return c.run.Judge(c.Selection, c.Known, contained, f)
}

// JudgeKnown is Judge without the baseline: its findings are corrected, too.
func (c *Choice) JudgeKnown(f diag.Finding, contained bool) (diag.Finding, bool) {
	return c.run.Judge(c.Selection, nil, contained, f)
}

// Lessens is Run.Lessens by this choice.
func (c *Choice) Lessens(f diag.Finding) bool { return c.run.Lessens(c.Selection, c.Known, f) }

// Files checks files by this choice.
func (c *Choice) Files() lint.Files {
	return lint.Files{Org: c.Org, Held: c.Holds, Choose: c.Judge, Lessens: c.Lessens}
}

// BaselineFile is where the baseline of a choice is written.
func (c *Choice) BaselineFile() string {
	name := BaselineName
	if c.Baseline != "" {
		name = filepath.FromSlash(c.Baseline)
	}
	return filepath.Join(c.Root, name)
}
