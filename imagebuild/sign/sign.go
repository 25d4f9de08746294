package sign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/hostprogram"
)

var (
	// ErrFlags reports parts of a Requirement that do not fit together.
	ErrFlags = errors.New("the flags about the signature")
	// ErrNotInstalled reports that the program is not here.
	ErrNotInstalled = errors.New("not installed")
)

// Func signs the image REGISTRY/NAME@DIGEST or checks its signature.
type Func func(ctx context.Context, ref string) error

// Cosign is how cosign signs.
type Cosign struct {
	Key      string    // private key: a file, env://NAME or a key service's address; "" = COSIGN_KEY, or an identity
	Args     []string  // further arguments
	Stdin    io.Reader // answers cosign's question for a password; nil = no answer
	Messages io.Writer // gets cosign's messages; nil = dropped
}

// Signer returns what signs an image and those of its platforms, with the
// credentials of login for the registry. The error is ErrNotInstalled.
func (c Cosign) Signer(login registry.Credentials) (Func, error) {
	program, err := hostprogram.Find("cosign")
	if err != nil {
		if !errors.Is(err, exec.ErrNotFound) {
			return nil, err
		}
		return nil, diag.WithHint(fmt.Errorf("cosign is %w", ErrNotInstalled),
			"install cosign 3 or later, or leave --sign out and attest the digest with actions/attest")
	}
	args := []string{"sign", "--yes", "--recursive"}
	if c.Key != "" {
		args = append(args, "--key="+c.Key)
	}
	args = append(args, c.Args...)
	return func(ctx context.Context, ref string) error {
		return withLogin(ctx, login, ref, func(env []string) error {
			return run(ctx, env, c.Stdin, c.Messages, program, append(args, ref))
		})
	}, nil
}

// Requirement is the signature that an image must have.
type Requirement struct {
	Kind     string   // "cosign", "github", or "" for none
	Key      string   // for cosign: the public key that must have signed
	Identity string   // for cosign the certificate's identity, for github OWNER/REPOSITORY
	Issuer   string   // for cosign: who vouches for the identity
	Args     []string // further arguments of cosign verify or gh attestation verify
}

// Checker returns what checks the signature; nil = none is required. The error is
// ErrFlags or ErrNotInstalled.
func (r Requirement) Checker(login registry.Credentials) (Func, error) {
	program, args, err := r.command()
	if err != nil || program == "" {
		return nil, err
	}
	path, err := hostprogram.Find(program)
	if err != nil {
		if !errors.Is(err, exec.ErrNotFound) {
			return nil, err
		}
		return nil, diag.WithHint(fmt.Errorf("%s is %w", program, ErrNotInstalled),
			"install it; signatures are checked by the program that makes them")
	}
	scheme := ""
	if program == "gh" {
		scheme = "oci://"
	}
	return func(ctx context.Context, ref string) error {
		return withLogin(ctx, login, ref, func(env []string) error {
			return run(ctx, env, nil, nil, path, append(args, scheme+ref))
		})
	}, nil
}

// command returns the program that checks and its arguments but for the image; ""
// when no signature is required. It is pure.
func (r Requirement) command() (program string, args []string, err error) {
	wrong := func(text, hint string) error {
		return diag.WithHint(fmt.Errorf("%w: %s", ErrFlags, text), "%s", hint)
	}
	switch r.Kind {
	case "":
		if r.Key != "" || r.Identity != "" || len(r.Args) > 0 {
			err = wrong("none is required", "say which kind with --signature cosign or --signature github")
		}
		return "", nil, err
	case "cosign":
		// Each flag is a variable for cosign, too (COSIGN_KEY). The arguments that are given here
		// must be what is checked, so none of these is left to the environment.
		args = []string{"verify", "--check-claims=true", "--key=" + r.Key}
		switch {
		case r.Key != "" && r.Identity != "":
			return "", nil, wrong("--key and --identity exclude each other", "a key has no identity: give one of them")
		case r.Key == "" && r.Identity == "":
			return "", nil, wrong("a signature of anybody says nothing",
				"name who must have signed with --identity, or their public key with --key")
		case r.Key == "":
			args = append(args, "--certificate-identity="+r.Identity, "--certificate-oidc-issuer="+r.Issuer)
		}
		return "cosign", append(args, r.Args...), nil
	case "github":
		if r.Identity == "" || r.Key != "" {
			return "", nil, wrong("GitHub's attestations are signed by identities", "name OWNER/REPOSITORY with --identity")
		}
		return "gh", append([]string{"attestation", "verify", "--repo=" + r.Identity}, r.Args...), nil
	}
	return "", nil, wrong(fmt.Sprintf("--signature %s: there is no such kind", r.Kind), "accepted: cosign, github")
}

// run runs a program and returns the last error that it named when it fails. Its
// messages are also copied to people; nil = not copied.
func run(ctx context.Context, env []string, stdin io.Reader, people io.Writer, program string, args []string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Stdin = env, stdin
	var said bytes.Buffer
	cmd.Stderr = &said
	if people != nil {
		cmd.Stderr = io.MultiWriter(people, &said)
	}
	err := cmd.Run()
	if err == nil {
		return nil
	}
	reason := ""
	for line := range strings.Lines(said.String()) {
		line = strings.TrimSpace(line)
		if reason == "" || strings.HasPrefix(strings.ToLower(line), "error") { // after an unknown flag follows help
			reason = strings.TrimPrefix(line, "error during command execution: ")
		}
	}
	return fmt.Errorf("%s: %w: %.500s", strings.TrimSuffix(filepath.Base(program), ".exe"), err, reason)
}

// withLogin calls f with an environment in which other programs find the
// credentials that we have for a reference: those of docker's own configuration
// they find anyway, others are put into a file that only this user can read and
// that ends with the call.
func withLogin(ctx context.Context, c registry.Credentials, ref string, f func(env []string) error) error {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return err
	}
	config, err := c.DockerConfig(ctx, parsed.Context())
	if err != nil {
		return err
	}
	if config == nil {
		return f(os.Environ())
	}
	dir, err := os.MkdirTemp("", "sbx-login-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600); err != nil {
		return err
	}
	return f(append(os.Environ(), "DOCKER_CONFIG="+dir))
}
