package image

import (
	"context"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

type verifyOptions struct {
	login    connect.Login
	npm      string
	digest   string
	platform string
	deep     bool
	noSBOM   bool
	offline  bool
	notOurs  bool
	required imagebuild.Required
	json     bool
}

func verifyCommand(a *cli.App) *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify REF",
		Short: "Check a published image against its digest, its lock and npm",
		Long: `Check that REF leads to complete images whose manifests and configurations have
the digests that name them, that they are set up as sandboxes, and that they have
an SBOM. With --lock, the layers, sbx-init and the settings must be the
lock's; Claude Code's layer is npm's own file, and npm is asked for its checksum.
The policy is no part of the lock: --policy names the file that the image must
hold. --deep reads every byte.

Exit code 0: everything holds; 1: something does not; 2: wrong usage; 3: it could
not be checked.`,
		Example: `  sbx-devc image verify ghcr.io/me/sandbox:v1.2.3 --lock sbx-image.lock.json --policy .devcontainer/sandbox.jsonc --deep
  sbx-devc image verify ghcr.io/me/sandbox@sha256:… --signature github --identity me/sandbox
  sbx-devc image verify ghcr.io/me/sandbox:v1.2.3 --signature cosign --key cosign.pub`,
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE: func(cmd *cobra.Command, operands []string) error {
			return verify(cmd.Context(), a, o, operands[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.required.Lock, "lock", "", "the lock that the image was made from")
	f.StringVar(&o.required.Policy, "policy", "", "the sandbox.jsonc that must be in the image; needs --lock")
	f.StringVar(&o.digest, "digest", "", "the digest that REF must lead to, sha256:…")
	f.StringVar(&o.platform, "platform", "", "check one platform only, linux/amd64 or linux/arm64")
	f.BoolVar(&o.deep, "deep", false, "read every layer to its end")
	f.BoolVar(&o.noSBOM, "no-sbom", false, "require no SBOM")
	f.BoolVar(&o.notOurs, "any-image", false, "do not require that the image is set up as a sandbox")
	f.BoolVar(&o.offline, "offline", false, "trust the lock for npm's checksum")
	signatureFlags(f, &o.required.Signature)
	f.StringVar(&o.npm, "npm-registry", "", "address of an npm registry (default: NPM_CONFIG_REGISTRY, or the public one)")
	f.BoolVar(&o.json, "json", false, "print the checks in JSON")
	o.login.Flags(f)
	return cmd
}

func verify(ctx context.Context, a *cli.App, o verifyOptions, ref string) error {
	repo, version := base.SplitRef(ref)
	if err := registry.CheckName(repo, version); err != nil {
		return exitcode.With(exitcode.CheckUsage, err)
	}
	m, err := materials(a, o.login, o.npm)
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	v, err := o.verification(m)
	if err != nil {
		return err
	}
	c, err := registry.Dial(ctx, repo, false, nil, m.Registry)
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	result, err := imagebuild.Verify(ctx, c, version, v)
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	if err := printVerified(a.Stdout, result, o.json); err != nil {
		return err
	}
	if !result.OK {
		return exitcode.With(exitcode.Findings, nil)
	}
	return nil
}

// verification reads the files that the flags name, and says what is to be
// checked.
func (o *verifyOptions) verification(m imagebuild.Materials) (v imagebuild.VerifyOptions, err error) {
	switch v, err = o.required.Options(m.Registry.Credentials); {
	case err != nil:
		if code, why := exitcode.Of(err, exitcode.NoCheck); code == exitcode.Usage {
			return v, exitcode.With(exitcode.CheckUsage, why)
		}
		return v, exitcode.With(exitcode.NoCheck, err)
	case v.Lock != nil && !o.offline:
		v.NPM = &m.NPM
	}
	v.Deep, v.SBOM, v.Sandbox, v.Platform = o.deep, !o.noSBOM, !o.notOurs, o.platform
	if o.digest != "" {
		if v.Digest, err = v1.NewHash(o.digest); err != nil {
			return v, exitcode.With(exitcode.CheckUsage, diag.WithHint(fmt.Errorf("--digest %s is none", o.digest),
				"write sha256: and 64 hexadecimal digits"))
		}
	}
	return v, nil
}

// printVerified prints the checks and how they ended.
func printVerified(to io.Writer, v *imagebuild.Verified, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(to, v)
	}
	for _, check := range v.Checks {
		word := "ok"
		if !check.OK {
			word = "WRONG"
		}
		if _, err := fmt.Fprintf(to, "%-6s %s: %s\n", word, check.Name, check.Detail); err != nil {
			return err
		}
	}
	return nil
}
