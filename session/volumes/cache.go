package volumes

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/settings/trust"
)

// GiveCache gives the agent of a plan the package managers' caches of the project in
// dir, by its real path.
func (s Store) GiveCache(ctx context.Context, plan *runplan.Plan, dir string) error {
	uid, gid := plan.AgentUser()
	w, err := cacheOf(dir, uid, gid)
	if err != nil {
		return fmt.Errorf("%w: the project's caches: %w", sandbox.ErrNoStart, err)
	}
	name, err := s.Take(ctx, w, func(name string) error {
		s.forgetGone(ctx)
		root := &tar.Header{Name: Place[1:] + "/", Typeflag: tar.TypeDir, Mode: 0o700, Uid: uid, Gid: gid}
		return s.Unpack(ctx, name, plan.Sidecar.Image, "/", func(w io.Writer) error {
			tw := tar.NewWriter(w)
			return errors.Join(tw.WriteHeader(root), tw.Close())
		})
	})
	if err != nil {
		return fmt.Errorf("%w: the project's caches: %w", sandbox.ErrNoStart, err)
	}
	plan.MountCache(name)
	return nil
}

// cacheOf is the cache of the project in dir for an agent's user.
func cacheOf(dir string, uid, gid int) (Wanted, error) {
	project, err := trust.Project(dir)
	if err != nil {
		return Wanted{}, err
	}
	if _, err := os.Stat(project); err != nil { // the main worktree does not have this folder
		project = dir
	}
	content := fmt.Sprintf("%s%s%s-%d-%d", project, contentEnd, filekind.Identity(project), uid, gid)
	return Wanted{Kind: Cache, Key: project, Content: content}, nil
}

// contentEnd divides a cache's content label: the project's folder comes before it.
const contentEnd = " #"

// forgetGone removes the caches of projects that are no longer there: they cost room
// alone.
func (s Store) forgetGone(ctx context.Context) {
	all, _ := s.List(ctx, Cache)
	for _, k := range all {
		if _, err := os.Lstat(k.Project()); errors.Is(err, fs.ErrNotExist) {
			_ = s.Remove(ctx, k)
		}
	}
}

// CachesOf lists this user's caches of the project in dir, also those of a project that
// was in its place before.
func (s Store) CachesOf(ctx context.Context, dir string) ([]Kept, error) {
	w, err := cacheOf(dir, 0, 0)
	if err != nil {
		return nil, err
	}
	all, err := s.List(ctx, Cache)
	return slices.DeleteFunc(all, func(k Kept) bool { return k.Project() != w.Key }), err
}

// Project is the folder that a cache is for.
func (k Kept) Project() string {
	at := strings.LastIndex(k.Content, contentEnd)
	return k.Content[:max(at, 0)]
}
