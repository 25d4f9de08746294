package projects

import (
	"fmt"
	"path/filepath"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/shellword"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session/accept"
	"github.com/org/claude-sandbox/settings"
)

// OwnFolder is the user's folder of settings.
func OwnFolder(a *cli.App) (userdir.Dir, error) {
	folder, err := userdir.Find(a.Getenv)
	if err != nil {
		return folder, exitcode.With(exitcode.Config, err)
	}
	return folder, nil
}

// AcceptWritten accepts files that a command of ours wrote. The command has done its
// work, so a failure is a note.
func AcceptWritten(a *cli.App, dir string, files map[string][]byte, by string) {
	own, err := OwnFolder(a)
	if err == nil {
		err = accept.Written(own, dir, files, by)
	}
	if err != nil {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: 'run' will ask about %s: %v\n", filepath.ToSlash(DefaultSettings), err)
	}
}

// KeepTrust follows a change of a project's settings by the user's word, and says what
// to do if they were not trusted before.
func KeepTrust(a *cli.App, dir string, before *settings.File, now []byte, by string) {
	own, err := OwnFolder(a)
	kept := false
	if err == nil {
		kept, err = accept.Keep(own, dir, before, now, by)
	}
	if err != nil {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: the settings are not trusted: %v\n", err)
	}
	if !kept || err != nil {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: for 'run', accept the settings with '%s'\n", AcceptCommand(dir))
	}
}

// AcceptCommand is how a user accepts the settings of the project in dir.
func AcceptCommand(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return "sbx-devc trust " + shellword.Quote(visible.Line(dir))
}
