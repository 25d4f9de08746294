package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/imagebuild/checkout"
	"github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/imagebuild/tags"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// gitRef is what the flags say about the state of the repository.
type gitRef struct {
	ref, commit, branch string
	recut               bool
}

func (g *gitRef) flags(f *pflag.FlagSet) {
	f.StringVar(&g.ref, "ref", "", "git ref, refs/tags/v1.2.3 or refs/heads/main (default: GITHUB_REF, or git's)")
	f.StringVar(&g.commit, "commit", "", "commit (default: GITHUB_SHA, or git's)")
	f.StringVar(&g.branch, "default-branch", "main", "branch that gets the tag edge")
	f.BoolVar(&g.recut, "recut", false, "a release once more, with another Claude Code: v1.2.3 and sha-… stay")
}

func tagsCommand(a *cli.App) *cobra.Command {
	var g gitRef
	var l connect.Login
	var claude, dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tags [REGISTRY/NAME]",
		Short: "Say which tags git's state asks for, and why",
		Long: `Print the tags that 'image push --git-tags' would write, one on a line. A release
v1.2.3 gets v1.2.3, v1.2.3-claude… and sha-…, which never move, and v1.2, v1 and
latest unless a higher stable release exists in the repository. Prereleases
get only their own names; the default branch gets edge, other branches branch-…
and pull requests pr-….

Without a repository nothing is looked up, as if it were empty.

Exit code 0: printed; 1: the registry could not be asked; 64: wrong usage, or a
git tag that is no release; 66: git does not say what is checked out; 78: the
registry does not accept the credentials.`,
		Example: `  sbx-devc image tags ghcr.io/me/sandbox --ref refs/tags/v1.2.3 --json`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, operands []string) error {
			ctx := cmd.Context()
			var c *registry.Client
			if len(operands) == 1 {
				options, err := connect.RegistryOptions(a, l)
				if err != nil {
					return connect.Error(err)
				}
				if c, err = registry.Dial(ctx, operands[0], false, nil, options); err != nil {
					return connect.Error(err)
				}
			}
			if claude == "" {
				claude = lockedClaude(dir)
			}
			d, err := decideTags(ctx, a, c, g, dir, claude)
			if err != nil {
				return connect.Error(err)
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, d)
			}
			for _, t := range d.Tags {
				fmt.Fprintf(a.Stderr, "sbx-devc: %s: %s\n", t.Name, t.Why)
				if _, err := fmt.Fprintln(a.Stdout, t.Name); err != nil {
					return err
				}
			}
			for _, t := range d.Withheld {
				fmt.Fprintf(a.Stderr, "sbx-devc: not %s: it %s\n", t.Name, t.Why)
			}
			return nil
		},
	}
	f := cmd.Flags()
	g.flags(f)
	f.StringVar(&claude, "claude", "", "version of Claude Code in the image (default: the lock's; none = none)")
	f.StringVar(&dir, "dir", ".", "the project's folder")
	f.BoolVar(&asJSON, "json", false, "print the decision in JSON")
	l.Flags(f)
	return cmd
}

// lockedClaude returns the lock's version of Claude Code; "" without one.
func lockedClaude(dir string) string {
	if l, err := lock.Read((&recipe{dir: dir}).lockFile()); err == nil && l.Claude != nil {
		return l.Claude.Version
	}
	return ""
}

// decideTags asks git and the registry, and decides. c may be nil.
func decideTags(ctx context.Context, a *cli.App, c *registry.Client, g gitRef, dir, claude string) (tags.Decision, error) {
	if claude == "none" {
		claude = ""
	}
	s := tags.Source{DefaultBranch: g.branch, Claude: claude, Recut: g.recut}
	at := checkout.Checkout{Dir: dir, Getenv: a.Getenv}
	s.Commit, s.Ref = cmp.Or(g.commit, at.Commit(ctx)), cmp.Or(g.ref, at.Ref(ctx))
	if s.Commit == "" || s.Ref == "" {
		return tags.Decision{}, exitcode.With(exitcode.NoInput,
			diag.WithHint(errors.New("git does not say what is checked out here"), "name it with --ref and --commit"))
	}
	var existing []string
	if c != nil {
		var err error
		if existing, err = c.Tags(ctx); err != nil {
			return tags.Decision{}, err
		}
	}
	d, err := tags.Decide(s, existing)
	if err != nil {
		err = exitcode.With(exitcode.Usage, err)
	}
	return d, err
}
