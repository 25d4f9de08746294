package images

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox"
)

//go:embed firewall.Dockerfile
var firewallDockerfile []byte

// FirewallName is what people see of the firewall's image that is built here. Bring
// puts the image's id in its place, whatever the engine calls by that name.
func FirewallName() string { return "claude-sandbox-firewall:" + short(firewallDockerfile) }

// bringFirewall returns the id of the firewall's image, which it builds where this
// user has not built it before or the engine has lost it.
func (i Images) bringFirewall(ctx context.Context) (id string, err error) {
	built := i.note("firewall", string(firewallDockerfile))
	if id := built.read(); id != "" {
		switch _, err := i.Engine.ImageInspect(ctx, id); {
		case err == nil:
			return id, nil
		case !errors.Is(err, engine.ErrNotFound):
			return "", err
		}
	}
	id, err = i.build(ctx, "the firewall's image", FirewallName(), map[string][]byte{"Dockerfile": firewallDockerfile})
	if err != nil {
		return "", diag.WithHint(fmt.Errorf("%w: %w", sandbox.ErrNoStart, err),
			"it is built once, from debian:bookworm-slim and its package iptables; name an image that has iptables with --firewall-image")
	}
	return id, built.write(id)
}
