package images

import (
	"archive/tar"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/gzip"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session/volumes"
)

// bringClaude returns the volume that holds Claude Code for a C library, filled when
// this user has none. firewall is the image of the container that it is filled in,
// which is not started.
func (i Images) bringClaude(ctx context.Context, arch, libc, firewall string) (volume string, err error) {
	pinned, err := npm.Pinned(arch, libc)
	if err != nil {
		return "", err
	}
	wanted := volumes.Wanted{Kind: volumes.Claude, Key: pinned.Integrity, Content: pinned.Integrity, Name: pinned.Version}
	volume, err = i.Volumes().Take(ctx, wanted, func(volume string) error {
		step := i.Progress.Begin(fmt.Sprintf("fetching Claude Code %s for linux/%s (%s) from npm", pinned.Version, arch, libc))
		err := i.fetchClaude(ctx, volume, pinned, arch, firewall, step)
		step.End(fmt.Sprintf("fetched Claude Code %s, checked by npm's sha512", pinned.Version), err)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("bringing Claude Code to the engine: %w", err)
	}
	return volume, nil
}

// PackageFolder is the folder below a cache folder that keeps npm's package of Claude Code, and
// a key that changes with what this program takes from it, for the cache of a CI system. A file
// in it counts by its checksum alone.
func PackageFolder(cache, arch string) (folder, key string, err error) {
	pinned, err := npm.Pinned(arch, npm.Glibc)
	if err != nil {
		return "", "", err
	}
	return filepath.Join(cache, downloads), "claude-code-" + pinned.Version + "-" + arch, nil
}

// OldPrograms lists this user's volumes with Claude Code of other packages than this
// program's, and with another sbx-init.
func OldPrograms(ctx context.Context, kept volumes.Store) ([]volumes.Kept, error) {
	current := map[string]bool{}
	for _, sum := range carried.Sums() {
		current[sum] = true
	}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, libc := range []string{npm.Glibc, npm.Musl} {
			pinned, err := npm.Pinned(arch, libc)
			if err != nil {
				return nil, err
			}
			current[pinned.Integrity] = true
		}
	}
	claude, err := kept.List(ctx, volumes.Claude)
	inits, initErr := kept.List(ctx, volumes.Init)
	old := slices.DeleteFunc(append(claude, inits...), func(k volumes.Kept) bool { return current[k.Content] })
	return old, errors.Join(err, initErr)
}

// Volumes are those of the same user.
func (i Images) Volumes() volumes.Store { return volumes.Store{Engine: i.Engine, Dir: i.Cache} }

// fetchClaude puts the program of a package into a volume.
func (i Images) fetchClaude(ctx context.Context, volume string, pinned npm.Package, arch, firewall string, log io.Writer) (err error) {
	blobs, err := i.store()
	if err != nil {
		return err
	}
	m := imagebuild.Materials{
		Store: blobs, NPM: npm.Registry{URL: i.npmURL(), HTTP: &http.Client{Transport: i.registry(log).Transport}},
		Notice: func(format string, args ...any) { fmt.Fprintf(log, format+"\n", args...) },
	}
	pinned.Tarball = m.NPM.TarballURL(pinned.Name, pinned.Version)
	tarball, err := m.FetchClaude(ctx, pinned, arch)
	if err != nil {
		return err
	}
	packed, err := blobs.Opener(tarball.SHA256)(ctx)
	if err != nil {
		return err
	}
	defer packed.Close()

	return i.Volumes().Unpack(ctx, volume, firewall, volumes.Place, func(w io.Writer) error {
		return writeProgram(w, packed, pinned.Integrity)
	})
}

// writeProgram writes the program of npm's package as an archive that holds nothing
// else. It belongs to root and can be run and not read: the kernel then closes the
// running program's memory, environment and open files to other programs of the same
// user. A package with another checksum is an error, before the archive has its end.
func writeProgram(to io.Writer, packed io.Reader, integrity string) error {
	sum := sha512.New()
	source := io.TeeReader(packed, sum)
	zr, err := gzip.NewReader(source)
	if err != nil {
		return fmt.Errorf("unpacking Claude Code: %w", err)
	}
	tr, tw := tar.NewReader(zr), tar.NewWriter(to)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("unpacking Claude Code: %w", err)
		}
		if h.Name != "package/claude" {
			continue
		}
		err = tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: runplan.ClaudeName, Mode: 0o111, Size: h.Size})
		if err == nil {
			_, err = io.Copy(tw, tr)
		}
		if err != nil {
			return fmt.Errorf("unpacking Claude Code: %w", err)
		}
	}
	if _, err := io.Copy(io.Discard, source); err != nil {
		return fmt.Errorf("unpacking Claude Code: %w", err)
	}
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum.Sum(nil)); got != integrity {
		return fmt.Errorf("the package of Claude Code in the cache folder has the checksum %s, not %s", got, integrity)
	}
	return tw.Close()
}
