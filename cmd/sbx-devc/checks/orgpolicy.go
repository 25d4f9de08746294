package checks

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// readPolicy reads an organisation's policy: a file, or the one file of an artifact in a
// registry, which is named by its digest, so it cannot change.
func readPolicy(ctx context.Context, a *cli.App, name string) (*org.Policy, error) {
	if !strings.Contains(name, "@sha256:") {
		policy, err := org.Read(name)
		if os.IsNotExist(err) && strings.Contains(name, "/") {
			return nil, diag.WithHint(err, "a policy in a registry is named by its digest: REGISTRY/NAME@sha256:…")
		}
		return policy, err
	}
	registries, err := connect.RegistryOptions(a, connect.Login{})
	if err != nil {
		return nil, err
	}
	src, err := imagebuild.SingleFile(ctx, registries, name, jsonc.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("reading the policy %s: %w", name, err)
	}
	return org.Load(name, src)
}
