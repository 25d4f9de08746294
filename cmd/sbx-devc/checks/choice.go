package checks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/devcontainer/selection"
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

// newChoices reads the policy of a flag, and makes the choices that the flags and the
// projects' files say. fetch reads a policy.
func newChoices(
	ctx context.Context, o choiceFlags, fetch func(context.Context, string) (*org.Policy, error),
) (*selection.Choices, error) {
	options := selection.Options{Config: o.config, NoConfig: o.noConfig, Rules: o.rules, Ignore: o.ignore, Fetch: fetch, Top: topOf}
	if o.policy != "" {
		var err error
		if options.Policy, err = fetch(ctx, o.policy); err != nil {
			return nil, exitcode.With(exitcode.NoCheck, err)
		}
	}
	c, err := selection.NewChoices(options)
	switch {
	case errors.Is(err, selection.ErrPolicy):
		return nil, exitcode.With(exitcode.NoCheck, err)
	case err != nil:
		return nil, exitcode.With(exitcode.CheckUsage, err)
	}
	return c, nil
}

// policies reads policies with a's credentials.
func policies(a *cli.App) func(context.Context, string) (*org.Policy, error) {
	return func(ctx context.Context, name string) (*org.Policy, error) { return readPolicy(ctx, a, name) }
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

// notShown tells of findings that choices keep back; "" when there are none.
func notShown(c *selection.Choices) string {
	off, known := c.NotShown()
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
