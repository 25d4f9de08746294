package images

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/session/volumes"
)

//go:embed firewall.Dockerfile
var firewallDockerfile []byte

// FirewallName is what people see of the firewall's image that is built here. Bring
// puts the image's id in its place, whatever the engine calls by that name.
func FirewallName() string { return "claude-sandbox-firewall:" + short(firewallDockerfile) }

// bringFirewall returns the id of the firewall's image: the published one where this program
// knows its digest and it can be pulled, or else one that is built where this user has not built
// it before or the engine has lost it.
func (i Images) bringFirewall(ctx context.Context) (id string, err error) {
	if i.Published != "" {
		id, err = i.bringBuilt(ctx, firewallKind, i.Published, func() (string, error) {
			_, image, err := i.bringNamed(ctx, i.Published)
			if err != nil {
				return "", err
			}
			return image.ID, i.Engine.Tag(ctx, image.ID, publishedName(i.Published))
		})
		if err == nil || ctx.Err() != nil {
			return id, err
		}
	}
	id, err = i.bringBuilt(ctx, firewallKind, string(firewallDockerfile), func() (string, error) {
		return i.build(ctx, "the firewall's image", FirewallName(), dockerfileAlone(firewallDockerfile))
	})
	if err != nil {
		hint := "it is built once, from debian:bookworm-slim and its packages iptables and ca-certificates, for which the engine has to reach " +
			"a registry and Debian's servers"
		if strings.HasPrefix(i.Option, "--") {
			hint += "; or name an image that has these with --firewall-image"
		}
		err = diag.WithHint(err, "%s", hint)
	}
	return id, err
}

const firewallKind = "firewall"

// publishedName is what people see of a published image in the engine; "" for none.
func publishedName(image string) string {
	if image == "" {
		return ""
	}
	return "claude-sandbox-firewall:" + short([]byte(image))
}

// firewallHere returns the id of the firewall's image that this user had last; "" = none yet.
func (i Images) firewallHere() string {
	for _, content := range []string{i.Published, string(firewallDockerfile)} {
		if id := volumes.NoteOf(i.Cache, i.Engine.Host(), firewallKind, content).Read(); content != "" && id != "" {
			return id
		}
	}
	return ""
}

// bringBuilt returns the id of an image that build makes of content, if this user has
// not built it before or the engine has lost it.
func (i Images) bringBuilt(ctx context.Context, kind, content string, build func() (id string, err error)) (id string, err error) {
	built := volumes.NoteOf(i.Cache, i.Engine.Host(), kind, content)
	if id := built.Read(); id != "" {
		_, err := i.Engine.ImageInspect(ctx, id)
		if err == nil || !errors.Is(err, engine.ErrNotFound) {
			return id, err
		}
	}
	if id, err = build(); err != nil {
		return "", err
	}
	return id, built.Write(id)
}
