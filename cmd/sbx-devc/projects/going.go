package projects

import (
	"github.com/org/claude-sandbox/session/runs"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
)

// Meant is the run that at most one argument names, or else the project around the current
// folder, of which a run is meant.
func Meant(a *cli.App, args []string) (project, name string, err error) {
	if len(args) == 1 {
		return "", args[0], nil
	}
	project, err = OfRuns(a, false, nil)
	return project, "", err
}

// Going is the run that goes on and is meant: named by at most one argument, or of the
// project around the current folder.
func Going(a *cli.App, args []string) (runs.Run, error) {
	project, name, err := Meant(a, args)
	if err != nil {
		return runs.Run{}, err
	}
	return Runs(a).Going(project, name)
}
