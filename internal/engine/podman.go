package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
)

// podman reports whether the engine is Podman behind Docker's API.
func (e *Engine) podman(ctx context.Context) bool {
	v, err := e.client.ServerVersion(ctx, client.ServerVersionOptions{})
	return err == nil && slices.ContainsFunc(v.Components, func(c system.ComponentVersion) bool { return c.Name == "Podman Engine" })
}

// podmanTmpfs rewrites mount options for Podman: it knows no owner (as of 4.3,
// "unknown mount option"), so whoever runs in the container may write there
// instead, as in /tmp; and it would copy in what the image has at that place.
func podmanTmpfs(mounts map[string]string) map[string]string {
	rewritten := make(map[string]string, len(mounts))
	for path, options := range mounts {
		kept := []string{"notmpcopyup"}
		owner := strings.Contains(options, "uid=")
		for o := range strings.SplitSeq(options, ",") {
			switch name, _, _ := strings.Cut(o, "="); {
			case name == "uid" || name == "gid":
			case name == "mode" && owner:
				kept = append(kept, "mode=1777")
			default:
				kept = append(kept, o)
			}
		}
		rewritten[path] = strings.Join(kept, ",")
	}
	return rewritten
}
