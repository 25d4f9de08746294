package images

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// seen is what a run must know of the files of an agent's image.
type seen struct {
	Claude   bool   // at the path that was asked for
	Closed   bool   // and it can be run and not read
	Libc     string // npm.Glibc, npm.Musl or "" for neither
	Bash     bool   // or zsh: a shell that Claude's Bash tool takes
	Git      bool   // where images usually have it
	LFS      bool   // git-lfs, in such a place
	InTheWay string // one of runplan.MountPlaces that an image must not have so; "" = none
	Links    bool   // a place of runplan.AccountFiles is more than a plain file
}

// loaders are the programs that start those of a C library, by architecture.
var loaders = map[string]map[string]string{
	"amd64": {npm.Glibc: "/lib64/ld-linux-x86-64.so.2", npm.Musl: "/lib/ld-musl-x86_64.so.1"},
	"arm64": {npm.Glibc: "/lib/ld-linux-aarch64.so.1", npm.Musl: "/lib/ld-musl-aarch64.so.1"},
}

var (
	shells = []string{"/bin/bash", "/usr/bin/bash", "/bin/zsh", "/usr/bin/zsh"}
	gits   = []string{"/usr/bin/git", "/usr/local/bin/git", "/bin/git"}
	lfs    = []string{"/usr/bin/git-lfs", "/usr/local/bin/git-lfs", "/bin/git-lfs"}
)

// look looks into an image, once for each id.
func (i Images) look(ctx context.Context, image engine.Image, claude string) (seen, error) {
	var s seen
	blobs, err := i.store()
	if err != nil {
		return s, err
	}
	err = blobs.Know(fmt.Sprintf("agent's image 8 %s %s %s", image.ID, image.Arch, claude), &s, func() error {
		loader := loaders[image.Arch]
		files, err := i.Engine.ImageFiles(ctx, image.ID,
			slices.Concat([]string{claude, loader[npm.Glibc], loader[npm.Musl], "/etc"}, shells, gits, lfs, runplan.AccountFiles(),
				slices.Collect(maps.Keys(runplan.MountPlaces())))...)
		if err != nil {
			return err
		}
		has := func(path string) bool { _, ok := files[path]; return ok }
		s = seen{Claude: has(claude), Closed: files[claude] == 0o111 && claude == runplan.DefaultClaudePath,
			Bash: slices.ContainsFunc(shells, has), Git: slices.ContainsFunc(gits, has),
			LFS: slices.ContainsFunc(lfs, has)}
		for place, folder := range runplan.MountPlaces() {
			if mode, there := files[place]; there && !(folder && mode.IsDir()) {
				s.InTheWay = place
			}
		}
		etc, there := files["/etc"] // Docker puts a folder in the place of a link
		s.Links = there && !etc.IsDir() || slices.ContainsFunc(runplan.AccountFiles(), func(path string) bool { return !files[path].IsRegular() })
		switch {
		case has(loader[npm.Glibc]):
			s.Libc = npm.Glibc
		case has(loader[npm.Musl]):
			s.Libc = npm.Musl
		}
		return nil
	})
	return s, err
}
