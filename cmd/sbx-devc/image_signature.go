package main

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
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/diag"
)

// Signatures are made and checked by the programs that people trust with them:
// cosign and gh. What they need beyond our flags they take from their own
// variables (COSIGN_PASSWORD, COSIGN_SIGNING_CONFIG, GH_TOKEN, …), as ever.

// signing is what the flags say about the signature that a push makes.
type signing struct {
	program string
	key     string
	args    []string
}

func (s *signing) flags(f *pflag.FlagSet) {
	f.StringVar(&s.program, "sign", "", "sign before the tags are written: cosign")
	f.StringVar(&s.key, "key", "", "cosign's private key: a file, env://NAME or a key service's address (default: COSIGN_KEY, or none and your identity)")
	f.StringArrayVar(&s.args, "sign-flag", nil, "a further flag for cosign sign, such as --signing-config=FILE (repeatable)")
}

// signer returns what signs an image by digest; nil = nobody does.
func (a *app) signer(s signing, o registry.Options) (func(context.Context, string) error, error) {
	if s.program == "" {
		if s.key != "" || len(s.args) > 0 {
			return nil, exitWith(exitUsage, diag.WithHint(errors.New("--key and --sign-flag say how to sign, and nothing signs"), "add --sign cosign"))
		}
		return nil, nil
	}
	if s.program != "cosign" {
		return nil, exitWith(exitUsage, unknownValue("sign", s.program, "cosign"))
	}
	program, err := exec.LookPath("cosign")
	if err != nil {
		return nil, exitWith(exitNoInput, diag.WithHint(errors.New("cosign is not installed"), "install cosign 3 or later, or leave --sign out and attest the digest with actions/attest"))
	}
	args := []string{"sign", "--yes", "--recursive"}
	if s.key != "" {
		args = append(args, "--key="+s.key)
	}
	args = append(args, s.args...)
	return func(ctx context.Context, ref string) error {
		// It may ask for a password, or print where to log in.
		var stdin io.Reader
		if isTerminal(a.stdin) {
			stdin = a.stdin
		}
		return withRegistryLogin(ctx, o.Credentials, ref, func(env []string) error {
			return runTool(ctx, env, stdin, a.stderr, program, append(args, ref))
		})
	}, nil
}

// signature is what the flags say about the signature that an image must have.
type signature struct {
	kind, key, identity, issuer string
	args                        []string
}

func (s *signature) flags(f *pflag.FlagSet) {
	f.StringVar(&s.kind, "signature", "", "require a signature: cosign, or github (gh attestation verify)")
	f.StringVar(&s.key, "key", "", "the public key that must have signed, for cosign: a file, env://NAME or a key service's address")
	f.StringVar(&s.identity, "identity", "", "who must have signed: for cosign the certificate's identity, for github OWNER/REPOSITORY")
	f.StringVar(&s.issuer, "issuer", "https://token.actions.githubusercontent.com", "who vouches for the identity, for cosign")
	f.StringArrayVar(&s.args, "signature-flag", nil, "a further flag for cosign verify or gh attestation verify (repeatable)")
}

// errSignatureFlags reports flags about a signature that do not fit together,
// errNoTool that the program which checks it is not here.
var (
	errSignatureFlags = errors.New("the flags about the signature")
	errNoTool         = errors.New("not installed")
)

// checker returns what checks the signature of REGISTRY/NAME@DIGEST; nil = none
// is required. The error is errSignatureFlags or errNoTool.
func (s signature) checker(c registry.Credentials) (func(context.Context, string) error, error) {
	wrong := func(text, hint string) error {
		return diag.WithHint(fmt.Errorf("%w: %s", errSignatureFlags, text), "%s", hint)
	}
	var program string
	var args []string
	switch s.kind {
	case "":
		if s.key != "" || s.identity != "" || len(s.args) > 0 {
			return nil, wrong("none is required", "say which kind with --signature cosign or --signature github")
		}
		return nil, nil
	case "cosign":
		program = "cosign"
		// Each flag is a variable for cosign, too (COSIGN_KEY). What is said here
		// must be what is checked, so none of these is left to the environment.
		args = []string{"verify", "--check-claims=true", "--key=" + s.key}
		switch {
		case s.key != "" && s.identity != "":
			return nil, wrong("--key and --identity exclude each other", "a key has no identity: give one of them")
		case s.key == "" && s.identity == "":
			return nil, wrong("a signature of anybody says nothing", "name who must have signed with --identity, or their public key with --key")
		case s.key == "":
			args = append(args, "--certificate-identity="+s.identity, "--certificate-oidc-issuer="+s.issuer)
		}
	case "github":
		program = "gh"
		if s.identity == "" || s.key != "" {
			return nil, wrong("GitHub's attestations are signed by identities", "name OWNER/REPOSITORY with --identity")
		}
		args = []string{"attestation", "verify", "--repo=" + s.identity}
	default:
		return nil, wrong(fmt.Sprintf("--signature %s: there is no such kind", s.kind), "accepted: cosign, github")
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, diag.WithHint(fmt.Errorf("%s is %w", program, errNoTool), "install it; signatures are checked by the program that makes them")
	}
	args = append(args, s.args...)
	return func(ctx context.Context, ref string) error {
		return withRegistryLogin(ctx, c, ref, func(env []string) error {
			target := ref
			if program == "gh" {
				target = "oci://" + ref
			}
			return runTool(ctx, env, nil, nil, path, append(args, target))
		})
	}, nil
}

// runTool runs a program and returns the last error that it named when it
// fails. Its messages are also copied to people; nil = to nobody.
func runTool(ctx context.Context, env []string, stdin io.Reader, people io.Writer, program string, args []string) error {
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

// withRegistryLogin calls f with an environment in which other programs find
// the credentials that we have for a reference: those of docker's own
// configuration they find anyway, others are put into a file that only this user
// can read and that ends with the call.
func withRegistryLogin(ctx context.Context, c registry.Credentials, ref string, f func(env []string) error) error {
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
