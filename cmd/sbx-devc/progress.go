package main

import (
	"os"
	"path/filepath"

	"golang.org/x/term"

	"github.com/org/claude-sandbox/internal/progress"
)

// columns is the width of the terminal that standard error is; 0 = it is none, or
// one that draws nothing.
func (a *app) columns() int {
	f, ok := a.stderr.(*os.File)
	if !ok || a.getenv("CI") != "" || a.getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 40 {
		return width
	}
	return 80
}

// progress tells people how builds and downloads go on. What a failed one said is
// kept in the cache folder.
func (a *app) progress(verbose bool, cache string) *progress.Reporter {
	return &progress.Reporter{Out: a.stderr, Columns: a.columns(), Verbose: verbose, LogFile: filepath.Join(cache, "failed.log")}
}
