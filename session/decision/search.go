package decision

import (
	"context"

	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// Sought are the secrets of a run that was killed, which its commits are not searched for
// yet; nil when there are none, or nobody knows where their values come from.
func (r *Run) Sought() []runplan.Secret {
	if r.Sources == nil || len(r.Commits) == 0 {
		return nil
	}
	return r.Sources.Secrets
}

// Search looks for the values of those secrets, by name, in the commits. Where one lacks a
// value the commits count as not all searched.
func (r *Run) Search(ctx context.Context, values map[string]string) error {
	var all []redact.Named
	for name, value := range values {
		all = append(all, redact.Named{Name: name, Value: value})
	}
	finder := redact.NewFinder(all)
	return r.eachUnsearched(func(c *gitdir.Commits, bundled []gitdir.Commits) error {
		if finder != nil {
			if err := gitdir.Search(ctx, r.Folder, c, bundled, finder); err != nil {
				return err
			}
		}
		c.Unsearched = c.Unsearched || r.Sources.Unknown || len(values) < len(r.Sources.Secrets)
		return nil
	})
}

func (r *Run) eachUnsearched(do func(c *gitdir.Commits, bundled []gitdir.Commits) error) error {
	for _, bundled := range r.Commits {
		for i := range bundled {
			if bundled[i].Unsearched {
				if err := do(&bundled[i], bundled); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
