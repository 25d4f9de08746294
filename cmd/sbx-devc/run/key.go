package run

import (
	"context"
	"strings"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/keys"
	"github.com/org/claude-sandbox/session/storedkey"
)

// KeyOf is the environment as far as the model's key of a run on a project is looked
// for. A key that login has kept stands in for those that are not there.
func KeyOf(ctx context.Context, a *cli.App, o *SecretFlags, project string) (func(string) string, error) {
	getenv := modelKey(a, o)
	if getenv("ANTHROPIC_API_KEY") != "" || getenv("CLAUDE_CODE_OAUTH_TOKEN") != "" || session.OfGateway(getenv) {
		return getenv, nil
	}
	own, err := projects.OwnFolder(a)
	if err != nil {
		return getenv, nil // a machine without homes keeps none
	}
	kept, err := storedkey.Read(ctx, own, project)
	if err != nil {
		return nil, exitcode.With(exitcode.NoSecret, err)
	}
	if kept == "" {
		return getenv, nil
	}
	keys.CloseMemory()
	variable := "ANTHROPIC_API_KEY"
	if strings.HasPrefix(kept, "sk-ant-oat") {
		variable = "CLAUDE_CODE_OAUTH_TOKEN"
	}
	return func(name string) string {
		if name == variable && (variable != "ANTHROPIC_API_KEY" || !o.noAPIKey) {
			return kept
		}
		return getenv(name)
	}, nil
}
