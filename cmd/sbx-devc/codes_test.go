package main

import "github.com/org/claude-sandbox/internal/exitcode"

// Exit codes, see docs/cli.md. Checks end with 0 clean, 1 findings, 2 usage
// or 3 could not check; run uses the codes of sysexits(3) and Claude's own.
const (
	exitOK          = 0
	exitFindings    = 1
	exitFailed      = exitcode.Failed // of other commands: the work itself failed, such as a step of a Dockerfile
	exitCheckUsage  = 2
	exitNoCheck     = 3
	exitUsage       = exitcode.Usage
	exitConfig      = exitcode.Config
	exitNoInput     = exitcode.NoInput
	exitUnavailable = exitcode.Unavailable
	exitInternal    = exitcode.Internal
	exitCantWrite   = exitcode.CantWrite
	exitLocked      = exitcode.Locked
	exitRefused     = exitcode.Refused
	exitNoSecret    = exitcode.NoSecret
	exitTimeout     = exitcode.Timeout
	exitNoStart     = exitcode.NoStart
	exitSignal      = exitcode.Signal
)
