package main

import (
	"github.com/org/claude-sandbox/internal/terminal"
)

// attend runs CMD for a person who joins a run, without any privilege, until it ends or
// the person's program does: standard input is a stream of terminal.Remote's.
func (p *program) attend(args []string) error {
	flags, command, found := splitCommand(args)
	fs := newFlags(attendCommand)
	tty := fs.Bool("terminal", false, "")
	rest, err := parseFlags(fs, flags)
	if err != nil {
		return err
	}
	if len(rest) > 0 || !found || len(command) == 0 {
		return usageError("unknown command %q", attendCommand)
	}
	code, err := terminal.Attend(p.stdin, append([]string{"sbx-init", confineCommand, "--"}, command...), *tty)
	if err != nil {
		return err
	}
	if code == 0 {
		return nil
	}
	return exitWith(code, nil)
}
