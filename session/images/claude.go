package images

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/klauspost/compress/gzip"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox"
)

// Labels of a volume with Claude Code.
const (
	labelProgram = "sbx-devc.claude"       // npm's checksum of the package that it was filled from
	labelOwner   = "sbx-devc.claude.owner" // the note of the user who filled it
)

// bringClaude returns the volume that holds Claude Code for a C library, filled when
// this user has none. firewall is the image of the container that it is filled in,
// which is not started.
func (i Images) bringClaude(ctx context.Context, arch, libc, firewall string) (volume string, err error) {
	pinned, err := npm.Pinned(arch, libc)
	if err != nil {
		return "", err
	}
	filled := i.note("claude", pinned.Integrity)
	labels := map[string]string{labelProgram: pinned.Integrity, labelOwner: short([]byte(filled))}
	if volume, err := i.filledVolume(ctx, filled, labels); volume != "" || err != nil {
		return volume, err
	}
	release, err := filled.hold()
	if err != nil {
		return "", err
	}
	defer release()
	if volume, err := i.filledVolume(ctx, filled, labels); volume != "" || err != nil {
		return volume, err // by the process that held the lock
	}
	step := i.Progress.Begin(fmt.Sprintf("fetching Claude Code %s for linux/%s (%s) from npm", pinned.Version, arch, libc))
	volume, err = i.fillVolume(ctx, pinned, arch, labels, firewall, step)
	if err == nil {
		err = filled.write(volume)
	}
	step.End(fmt.Sprintf("fetched Claude Code %s, checked by npm's sha512", pinned.Version), err)
	if err != nil {
		return "", fmt.Errorf("bringing Claude Code to the engine: %w", err)
	}
	i.removeOldVolumes(ctx, labels, volume)
	return volume, nil
}

// filledVolume returns the volume of the note, "" unless it is one that was filled
// here: its labels are those that it was made with, and the engine keeps its content.
// A volume that an engine makes for somebody's mount has no label.
func (i Images) filledVolume(ctx context.Context, filled note, labels map[string]string) (string, error) {
	name := filled.read()
	if name == "" {
		return "", nil
	}
	v, err := i.Engine.Volume(ctx, name)
	if errors.Is(err, engine.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !v.Plain || v.Labels[labelProgram] != labels[labelProgram] || v.Labels[labelOwner] != labels[labelOwner] {
		return "", nil
	}
	return name, nil
}

// fillVolume makes a volume and puts the program of a package into it. A volume
// that was not filled to its end is removed.
func (i Images) fillVolume(ctx context.Context, pinned npm.Package, arch string, labels map[string]string, firewall string, log io.Writer) (
	volume string, err error,
) {
	blobs, err := i.store()
	if err != nil {
		return "", err
	}
	m := imagebuild.Materials{
		Store: blobs, NPM: npm.Registry{URL: i.npmURL(), HTTP: &http.Client{Transport: i.registry(log).Transport}},
		Notice: func(format string, args ...any) { fmt.Fprintf(log, format+"\n", args...) },
	}
	pinned.Tarball = m.NPM.TarballURL(pinned.Name, pinned.Version)
	tarball, err := m.FetchClaude(ctx, pinned, arch)
	if err != nil {
		return "", err
	}
	packed, err := blobs.Opener(tarball.SHA256)(ctx)
	if err != nil {
		return "", err
	}
	defer packed.Close()

	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	volume = "sbx-devc-claude-" + pinned.Version + "-" + hex.EncodeToString(random[:])
	if err := i.Engine.CreateVolume(ctx, volume, labels); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.Engine.RemoveVolume(context.WithoutCancel(ctx), volume))
		}
	}()
	const place = "/claude"
	container, err := i.Engine.Create(ctx, engine.Spec{
		Image: firewall, Command: []string{"/none"}, Network: "none", Mounts: []engine.Mount{{Named: volume, Target: place}},
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, i.Engine.Remove(context.WithoutCancel(ctx), container)) }()
	r, w := io.Pipe()
	go func() { w.CloseWithError(writeProgram(w, packed, pinned.Integrity)) }()
	defer r.Close()
	return volume, i.Engine.CopyTar(ctx, container, place, r)
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
		err = tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: sandbox.ClaudeName, Mode: 0o111, Size: h.Size})
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

// removeOldVolumes removes the volumes that this user filled for the same note and
// that no container uses, such as one that lost its labels' match.
func (i Images) removeOldVolumes(ctx context.Context, labels map[string]string, keep string) {
	volumes, err := i.Engine.Volumes(ctx, labelOwner, labels[labelOwner])
	if err != nil {
		return // they cost room alone
	}
	for _, v := range volumes {
		if v.Name != keep {
			_ = i.Engine.RemoveVolume(ctx, v.Name)
		}
	}
}
