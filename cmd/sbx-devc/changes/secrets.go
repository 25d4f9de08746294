package changes

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/decision"
	"github.com/org/claude-sandbox/session/keys"
	"github.com/org/claude-sandbox/session/secrets"
)

// searchCommits looks for the secrets of a run that was killed in its commits, by the values
// that they have now.
func searchCommits(ctx context.Context, a *cli.App, run *decision.Run) error {
	sought := run.Sought()
	if len(sought) == 0 {
		return nil
	}
	keys.CloseMemory()
	from := secrets.Sources{Getenv: a.Getenv, Open: func(name string) (io.ReadCloser, error) {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, err
			}
			name = filepath.Join(home, rest)
		}
		return session.OpenFile(name, run.Project)
	}}
	values := map[string]string{}
	var missing []string
	for _, s := range sought {
		found, err := from.Resolve(ctx, []secrets.Wanted{{Name: s.Name, From: s.From, File: s.File != ""}})
		if err != nil {
			missing = append(missing, s.Name)
			continue
		}
		values[s.Name] = found[s.Name]
	}
	if len(missing) > 0 {
		a.SayLine("warning: the run was killed, and its commits are not searched for the value of %s, which is not where it was",
			strings.Join(missing, ", "))
	}
	if err := run.Search(ctx, values); err != nil {
		return exitcode.With(exitcode.Failed, err)
	}
	return nil
}
