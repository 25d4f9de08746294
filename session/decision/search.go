package decision

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// Secret is one of a run, with the place that its value came from.
type Secret = runplan.Secret

// Values returns the values that secrets have now, by name, without those that are not where
// they were. project is the run's.
type Values func(ctx context.Context, project string, secrets []Secret) map[string]string

// Finish looks for the changes of a run that could not itself, such as one that was killed,
// and for its secrets in them. accepted is runs.Home's. It does so once; other runs stay as
// they are.
func Finish(ctx context.Context, folder string, values Values, accepted func(dir string) map[string][]byte) error {
	if !changes.IsLeft(folder) {
		return nil
	}
	w, err := runs.WorkOf(folder)
	if err != nil {
		return err
	}
	finder, lacking := sought(ctx, w, values)
	var unseen []string
	if lacking != "" {
		unseen = append(unseen, "the changes are not searched for "+lacking)
	}
	var own map[string][]byte
	if accepted != nil && w.InPlace() {
		own = changes.AcceptedIn(w.Project, accepted(w.Settings))
	}
	if _, err = changes.Finish(ctx, folder, finder, w.InPlace(), own, unseen...); err != nil {
		err = fmt.Errorf("looking for what the run %s changed: %w", w.Run, err)
		return exitcode.With(exitcode.CantWrite, diag.WithHint(err, "its work is in %s, and its records are in %s", w.Tree, folder))
	}
	return nil
}

// sought is what finds the run's secrets, nil for nothing; lacking says in words which it
// does not know.
func sought(ctx context.Context, w runs.Work, values Values) (finder *redact.Finder, lacking string) {
	if w.Sources == nil {
		return nil, ""
	}
	var all []redact.Named
	var missing []string
	found := values(ctx, w.Project, w.Sources.Secrets)
	for _, s := range w.Sources.Secrets {
		if value, ok := found[s.Name]; ok {
			all = append(all, redact.Named{Name: s.Name, Value: value})
		} else {
			missing = append(missing, s.Name)
		}
	}
	switch {
	case len(missing) > 0:
		lacking = "the value of " + strings.Join(missing, ", ") + ", which is not where it was"
	case w.Sources.Unknown:
		lacking = "all of the run's secrets: the values of some were known to the run alone"
	}
	return redact.NewFinder(all), lacking
}

// SearchCommits looks for the secrets of a run that was killed in its commits, which it could
// not do itself. lacking says in words for which it could not look; those commits count as not
// all searched.
func (r *Run) SearchCommits(ctx context.Context, values Values) (lacking string, err error) {
	unsearched := func(c gitdir.Commits) bool { return c.Unsearched }
	if !slices.ContainsFunc(slices.Concat(r.Commits...), unsearched) {
		return "", nil
	}
	finder, lacking := sought(ctx, r.Work, values)
	for _, bundled := range r.Commits {
		for i := range bundled {
			c := &bundled[i]
			if !c.Unsearched {
				continue
			}
			if finder != nil {
				if err := gitdir.Search(ctx, r.Folder, c, bundled, finder); err != nil {
					return lacking, err
				}
			}
			c.Unsearched = c.Unsearched || lacking != ""
		}
	}
	return lacking, nil
}
