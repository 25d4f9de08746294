package engine

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/system"

	"github.com/org/claude-sandbox/internal/diag"
)

// podman reports whether the engine is Podman behind Docker's API. One that does
// not run as root is refused.
//
// The root of a rootless Podman's containers is the user who runs it, and the
// agent, who never is root, may not write to that user's project. With the
// user's number for the agent (keep-id) the containers' user ids are no range of
// the kernel's any more, and the packet filter's rules about users miss some; the
// network interfaces of the host are seen; and on control groups of version 1 no
// limit of memory or processes is obeyed. Measured with Podman 4.3.
func (e *Engine) podman(ctx context.Context) (bool, error) {
	podman, rootless, err := e.kind(ctx)
	if rootless && err == nil {
		err = errRootless
	}
	return podman, err
}

// errRootless reports a Podman without root.
var errRootless = diag.WithHint(errors.New("this Podman does not run as root, which is not supported: the agent could not write to "+
	"the project, and limits might not hold"),
	"use the Podman of root (sudo systemctl start podman.socket, then run this as root with "+
		"DOCKER_HOST=unix:///run/podman/podman.sock), or Docker")

// kind reports whether the engine is Podman, and one without root. A Podman that does
// not say is one.
func (e *Engine) kind(ctx context.Context) (podman, rootlessPodman bool, err error) {
	v, err := e.server(ctx)
	if err != nil {
		return false, false, err
	}
	if !slices.ContainsFunc(v.Components, func(c system.ComponentVersion) bool { return c.Name == "Podman Engine" }) {
		return false, false, nil
	}
	// Docker's form of this has no word for it, and Podman 4.3 does not say
	// "name=rootless" among the security options.
	var info struct{ Rootless *bool }
	if _, err := e.plain(ctx, http.MethodGet, "/info", &info); err != nil {
		return true, true, err
	}
	return true, info.Rootless == nil || *info.Rootless, nil
}

// podmanTmpfs rewrites mount options for Podman: it knows no owner (as of 4.3,
// "unknown mount option"), so programs in the container may write there
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
