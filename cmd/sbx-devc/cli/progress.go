package cli

import (
	"os"
	"path/filepath"

	"golang.org/x/term"

	"github.com/org/claude-sandbox/internal/progress"
)

// Columns is the width of the terminal that standard error is; 0 = it is none, or
// one that draws nothing.
func (a *App) Columns() int {
	f, ok := a.Stderr.(*os.File)
	if !ok || a.Getenv("CI") != "" || a.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 40 {
		return width
	}
	return 80
}

// Progress tells people how builds and downloads go on. The output of a failed one is
// kept in the cache folder.
func (a *App) Progress(verbose bool, cache string) *progress.Reporter {
	return &progress.Reporter{Out: a.Stderr, Columns: a.Columns(), Verbose: verbose, LogFile: filepath.Join(cache, "failed.log")}
}
