package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/imagebuild"
	imagelock "github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/templates/lock"
)

type pullOptions struct {
	login       connect.Login
	dir, lock   string
	pinned      string
	required    imagebuild.Required
	requireLock bool // --lock was given
}

// maxLock bounds a lock, in bytes.
const maxLock = 4 << 20

func pullCommand(a *cli.App) *cobra.Command {
	var o pullOptions
	cmd := &cobra.Command{
		Use:   "pull [REF]",
		Short: "Pull an image from a registry into the engine, every byte checked",
		Long: `Pull REF (by tag, or by digest as NAME@sha256:…) for the engine's architecture.
When the project's lock (DIR/` + lock.Path + `, written by 'sbx-devc lock
--update') has a digest for REF, exactly that is pulled under REF's name, with a
note if the tag has moved since. Without REF, all images of the lock are pulled this
way.

--lock FILE takes another lock. With the lock of an image (` + imagelock.File + `)
REF must be the image that it describes: layers, sbx-init, settings and, with
--policy FILE, the policy are compared before anything is fetched. --signature
requires a signature as 'image verify' does. --pinned FILE reads the reference from
a file that must name a digest: one line NAME[:TAG]@sha256:…, as 'image push
--pinned FILE' writes it.

The image's id is printed; the digest goes to standard error.

Exit code 0: pulled; 1: it failed, or the image is another one; 64: wrong usage;
65: the lock has no digest; 66: there is no such image, or it is private; 69: no
container engine; 78: the registry does not accept the credentials.`,
		Example: `  sbx-devc image pull
  sbx-devc image pull ghcr.io/me/sandbox:v1.2.3
  sbx-devc image pull ghcr.io/me/sandbox:v1 --lock sbx-image.lock.json
  sbx-devc image pull --pinned sandbox-image.txt --signature cosign --key cosign.pub`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, operands []string) error {
			o.requireLock = cmd.Flags().Changed("lock")
			return connect.Error(pull(cmd.Context(), a, o, operands))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.dir, "dir", ".", "the project's folder, with the lock")
	f.StringVar(&o.lock, "lock", "", "the lock that decides (default: DIR/"+lock.Path+", if there is one)")
	f.StringVar(&o.required.Policy, "policy", "", "the sandbox.jsonc that must be in the image; needs --lock "+imagelock.File)
	f.StringVar(&o.pinned, "pinned", "", "file that names the image by digest")
	signatureFlags(f, &o.required.Signature)
	o.login.Flags(f)
	return cmd
}

func pull(ctx context.Context, a *cli.App, o pullOptions, operands []string) error {
	byLock, err := o.readLock()
	if err != nil {
		return err
	}
	images, err := toPull(a, o, byLock, operands)
	if err != nil {
		return err
	}
	options, err := connect.RegistryOptions(a, o.login)
	if err != nil {
		return err
	}
	verify, err := o.required.Options(options.Credentials)
	if err != nil {
		return err
	}
	verify.Sandbox = verify.Lock != nil
	pullOptions := imagebuild.PullOptions{}
	if verify.Lock != nil || verify.Signature != nil {
		pullOptions.Check = verify.Check
	}
	moved := false
	return connect.Engine(ctx, func(e *engine.Engine) error {
		for _, image := range images {
			pullOptions.Digest = image.Digest
			pulled, err := imagebuild.Pull(ctx, e, options, image.Reference, pullOptions)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Stderr, "sbx-devc: pulled %s, digest %s\n", image.Reference, pulled.Digest)
			if pulled.Now != "" {
				fmt.Fprintf(a.Stderr, "sbx-devc: note: %s leads to %s by now\n", pulled.Ref, pulled.Now)
			}
			if _, err := fmt.Fprintln(a.Stdout, pulled.ID); err != nil {
				return err
			}
			moved = moved || pulled.Now != "" && image.Digest != (v1.Hash{})
		}
		if moved {
			fmt.Fprintf(a.Stderr, "sbx-devc: 'sbx-devc lock --update' takes newer versions\n")
		}
		return nil
	})
}

// readLock reads the project's lock, if the flags do not name the lock of an image. The
// project's own may be missing.
func (o *pullOptions) readLock() (text []byte, err error) {
	if o.pinned != "" && !o.requireLock {
		return nil, nil
	}
	o.lock = cmp.Or(o.lock, filepath.Join(o.dir, filepath.FromSlash(lock.Path)))
	text, err = filekind.Read(o.lock, maxLock)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !o.requireLock:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the lock: %w", err)
	case lock.IsOther(text):
		o.required.Lock = o.lock
		return nil, nil
	}
	return text, nil
}

// toPull decides which images are pulled, and by which digest; zero = any. byLock is the
// project's lock, nil without one.
func toPull(a *cli.App, o pullOptions, byLock []byte, operands []string) ([]lock.Pin, error) {
	wrong := func(err error, hint string, args ...any) ([]lock.Pin, error) {
		return nil, exitcode.With(exitcode.Usage, diag.WithHint(err, hint, args...))
	}
	switch {
	case len(operands) == 1 && o.pinned != "":
		return wrong(errors.New("a reference and --pinned"), "leave one of them out")
	case o.pinned != "":
		ref, err := imagebuild.ReadPinned(o.pinned)
		return []lock.Pin{{Reference: ref}}, err
	case len(operands) == 0 && o.required.Lock != "":
		return wrong(fmt.Errorf("%s says what an image is made of, and not where it is", o.lock), "name the image, too")
	case len(operands) == 0 && byLock == nil:
		return wrong(errors.New("name one image"), "write a reference, or --pinned FILE; in a project with a lock (%s) none is needed", lock.Path)
	case byLock == nil || len(operands) == 1 && strings.Contains(operands[0], "@"):
		return []lock.Pin{{Reference: operands[0]}}, nil
	}
	pins, moving, err := lock.Choose(o.lock, byLock, append(operands, "")[0], o.requireLock)
	if moving {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: %s has no digest for %s; it is pulled as its tag leads\n", o.lock, operands[0])
	}
	return pins, err
}
