package devfiles

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/session/accept"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/adopt"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// showOpenings says in words what the sandbox will reach and get.
func showOpenings(a *cli.App, accepted *settings.Accepted) {
	if accepted != nil {
		fmt.Fprintln(a.Stderr, "sbx-devc: the sandbox will have this, and nothing else of the network:")
		accept.WriteOpenings(a.Stderr, accepted.Openings())
	}
}

// showFiles prints the tree of what would be written and then each change, in
// the form that patch and git apply read. changed is said of a file that is
// there and would get another content.
func showFiles(a *cli.App, dir scaffold.Folder, files []templates.File, changed string) error {
	var out bytes.Buffer
	folder := ""
	for _, f := range files {
		if path.Dir(f.Path) != folder {
			folder = path.Dir(f.Path)
			fmt.Fprintf(&out, "%s/\n", folder)
		}
		state := "new"
		switch {
		case dir.Holds(f):
			state = "unchanged"
		case dir.Read(f.Path) != nil:
			state = changed
		}
		fmt.Fprintf(&out, "  %s (%s)\n", path.Base(f.Path), state)
	}
	for _, f := range files {
		old, from := dir.Read(f.Path), "a/"+f.Path
		if old == nil {
			from = "/dev/null"
		}
		if adopt.OwnFeature(f) {
			continue // this program's own, with its binaries
		}
		out.Write(diff.Diff(from, old, "b/"+f.Path, f.Content))
	}
	_, err := cli.Shown(a.Stdout).Write(out.Bytes())
	fmt.Fprintln(a.Stderr, "sbx-devc: dry run, nothing was written")
	return err
}

// loadInit puts the image that holds sbx-init into the engine, where the Dockerfile
// takes it from. Without an engine the files are good, too.
func loadInit(ctx context.Context, a *cli.App) {
	err := connect.Engine(ctx, func(e *engine.Engine) error {
		_, err := imagebuild.LoadInit(ctx, e)
		return err
	})
	if err != nil {
		fmt.Fprintln(a.Stderr,
			"sbx-devc: note: sbx-init could not be put into a container engine; 'sbx-devc image load' says why, and comes before the first build")
	}
}

// servicesNote says how a run and a dev container reach the services of a Compose file.
// network is the one that the dev container of the project in dir joins, "" = none.
func servicesNote(dir scaffold.Folder, network string) string {
	const note = "a run joins the network of the project's Compose services while they run"
	if network == "" {
		return note + "; this dev container does not"
	}
	return note + "; the dev container joins " + detect.EngineName(network, string(dir)) + " at its start, which fails without that network"
}

// sayServices says how the services start, before a dev container that joins their network:
// a command of so many columns.
func sayServices(a *cli.App, columns int, services []string) {
	fmt.Fprintf(a.Stderr, "  %-*s the services, and their network\n", columns, "docker compose up -d "+strings.Join(services, " "))
}

// endsContainer says what ends a running dev container, before it happens.
const endsContainer = "sbx-devc: note: 'git config', 'git remote add' or 'git push -u' on this machine ends the running container: " +
	"use git inside, or stop it first\n"
