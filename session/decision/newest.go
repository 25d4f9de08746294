package decision

import (
	"fmt"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/session/runs"
)

// Changed is the folder of the run that name means, an id, a name or a folder; "" means the
// newest run of the project that kept what changed in its files. later is then a sentence
// about the newest run of all where that is another one: its reader would take the changes
// for those of the run that he remembers. It errs for a run that kept no changes.
func Changed(h runs.Home, project, name string) (folder, later string, err error) {
	if name != "" {
		folder, err = named(h, name)
		return folder, "", err
	}
	for _, r := range h.List(project) {
		if hasChanges(r.Folder) {
			return r.Folder, later, nil
		}
		if later == "" {
			later = nothingToReview(r)
		}
	}
	hint := "name a run, or go to the project's folder"
	if later != "" {
		hint = later + "; " + hint
	}
	err = fmt.Errorf("no run of %s in %s has changes to look at", project, h.Dir())
	return "", "", exitcode.With(exitcode.NoInput, diag.WithHint(err, "%s", hint))
}

// named is the folder of the run that name means.
func named(h runs.Home, name string) (string, error) {
	folder := h.Find(name)
	if err := runs.CheckSandbox(folder); err != nil {
		return "", err
	}
	if hasChanges(folder) {
		return folder, nil
	}
	r, ok := h.Run(folder)
	switch {
	case !filekind.IsFolder(folder):
		return "", h.Unknown("run", name)
	case !ok:
		err := fmt.Errorf("%s is not the folder of a run", name)
		return "", exitcode.With(exitcode.NoInput, diag.WithHint(err, "runs are kept in %s", h.Dir()))
	}
	err := fmt.Errorf("%s is no run that kept what changed", name)
	return "", exitcode.With(exitcode.NoInput, diag.WithHint(err, "%s", nothingToReview(r)))
}

func hasChanges(folder string) bool {
	return filekind.IsRegular(filepath.Join(folder, changes.SetFile))
}

// nothingToReview says why a run kept no changes.
func nothingToReview(r runs.Run) string {
	switch {
	case runs.CheckSandbox(r.Folder) != nil:
		return fmt.Sprintf("the run %s %v", r.ID, runs.ErrNoSandbox)
	case r.Result == runs.Running:
		return fmt.Sprintf("the run %s goes on, and its changes are known when it ends", r.ID)
	case r.Workspace == "ro" || r.Workspace == "none":
		return fmt.Sprintf("the run %s has nothing to review: with --workspace %s its agent could change no file of the project",
			r.ID, r.Workspace)
	}
	return fmt.Sprintf("the run %s has nothing to review: its agent did not begin, or its program was killed", r.ID)
}
