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

// secretValues looks where the secrets of a run came from.
func secretValues(a *cli.App) decision.Values {
	return func(ctx context.Context, project string, sought []decision.Secret) map[string]string {
		keys.CloseMemory()
		from := secrets.Sources{Getenv: a.Getenv, Open: func(name string) (io.ReadCloser, error) {
			if rest, ok := strings.CutPrefix(name, "~/"); ok {
				home, err := os.UserHomeDir()
				if err != nil {
					return nil, err
				}
				name = filepath.Join(home, rest)
			}
			return session.OpenFile(name, project)
		}}
		values := map[string]string{}
		for _, s := range sought {
			if found, err := from.Resolve(ctx, []secrets.Wanted{{Name: s.Name, From: s.From, File: s.File != ""}}); err == nil {
				values[s.Name] = found[s.Name]
			}
		}
		return values
	}
}

// searchCommits looks for the secrets of a run that was killed in its commits.
func searchCommits(ctx context.Context, a *cli.App, run *decision.Run) error {
	lacking, err := run.SearchCommits(ctx, secretValues(a))
	if err != nil {
		return exitcode.With(exitcode.Failed, err)
	}
	if lacking != "" {
		a.SayLine("warning: the run was killed, and its commits are not searched for %s", lacking)
	}
	return nil
}
