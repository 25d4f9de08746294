package imagebuild

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
)

// Output says which files a finished image becomes, and its name.
type Output struct {
	Tag string // NAME or NAME:TAG, in the files and in the engine; "" = none
	OCI string // folder of an OCI image layout; "" = none
	Tar string // an OCI archive, which 'docker load' reads, too; "" = none
}

// Check refuses, before anything is built, names that no engine takes and places where no
// file can be. Errors name the flags, and carry an exit code.
func (o Output) Check() error {
	if o.Tag != "" {
		if _, err := name.NewTag(o.Tag); err != nil {
			return exitcode.With(exitcode.Usage, diag.WithHint(fmt.Errorf("--tag %q: %w", o.Tag, err),
				"write NAME:TAG, the name in lower case letters, digits, '.', '_', '-' and '/'"))
		}
	}
	if o.Tar != "" {
		if info, err := os.Stat(o.Tar); err == nil && info.IsDir() {
			return exitcode.With(exitcode.Usage, diag.WithHint(fmt.Errorf("--tar %q is a folder", o.Tar),
				"name the file to write; --oci writes an image layout into a folder"))
		}
		if _, err := os.Stat(filepath.Dir(o.Tar)); err != nil {
			return exitcode.With(exitcode.NoInput, fmt.Errorf("--tar %q: %w", o.Tar, err))
		}
	}
	if info, err := os.Stat(o.OCI); err == nil && !info.IsDir() {
		return exitcode.With(exitcode.Usage, diag.WithHint(fmt.Errorf("--oci %q is a file", o.OCI),
			"name a folder; --tar writes an archive to a file"))
	}
	return nil
}

// Names are the image's names with a tag, as the docker command completes them: none or
// one.
func (o Output) Names() []string {
	switch {
	case o.Tag == "":
		return nil
	case strings.Contains(o.Tag[strings.LastIndex(o.Tag, "/")+1:], ":"):
		return []string{o.Tag}
	}
	return []string{o.Tag + ":latest"}
}

// Write writes the files, whole or not at all.
func (o Output) Write(ctx context.Context, made artifact.Artifact) error {
	if o.OCI != "" {
		if err := artifact.WriteLayout(ctx, o.OCI, made, nil, o.Tag); err != nil {
			return err
		}
	}
	if o.Tar == "" {
		return nil
	}
	arch := ""
	if len(made.Images) == 1 {
		arch = made.Images[0].Platform.Architecture
	}
	return atomicfile.Write(o.Tar, 0o644, func(w io.Writer) error { return artifact.WriteTar(ctx, w, made, arch, o.Names()) })
}

// CheckPlatforms refuses platforms that sbx-init is not built for.
func CheckPlatforms(list []string) error {
	for _, p := range list {
		if !slices.Contains([]string{"linux/amd64", "linux/arm64"}, p) {
			return exitcode.With(exitcode.Usage, diag.WithHint(fmt.Errorf("--platform %q: there is no sbx-init for it", p),
				"accepted: linux/amd64, linux/arm64"))
		}
	}
	return nil
}

// WritePinned writes an image to a file as one line NAME@DIGEST, which stands for the same
// image whatever becomes of its tags.
func WritePinned(file, repository, digest string) error {
	if err := atomicfile.WriteBytes(file, 0o644, []byte(repository+"@"+digest+"\n")); err != nil {
		return fmt.Errorf("the image is pushed, but not written down: %w", err)
	}
	return nil
}

// ReadPinned reads such a file.
func ReadPinned(file string) (string, error) {
	data, err := filekind.Read(file, 1<<10)
	if err != nil {
		return "", fmt.Errorf("reading the pinned reference: %w", err)
	}
	ref := strings.TrimSpace(string(data))
	if strings.ContainsAny(ref, " \t\n") || !strings.Contains(ref, "@sha256:") {
		return "", exitcode.With(exitcode.Config, diag.WithHint(fmt.Errorf("%s does not pin an image by digest", file),
			"write one line NAME@sha256:…, as 'sbx-devc image push --pinned FILE' does"))
	}
	return ref, nil
}
