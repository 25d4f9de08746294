package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
)

func (a *app) imagePullCommand() *cobra.Command {
	var l login
	var pin string
	cmd := &cobra.Command{
		Use:   "pull [REF]",
		Short: "Pull an image from a registry into the engine, every byte checked",
		Long: `Pull REF (by tag, or by digest as NAME@sha256:…) for the engine's architecture.
With --pinned FILE the reference is read from that file, which must name a digest:
one line NAME[:TAG]@sha256:…, as 'image push --pinned FILE' writes it. The image's id is printed;
the digest goes to standard error.

Exit code 0: pulled; 1: it failed; 64: wrong usage; 66: there is no such image,
or it is private; 69: no container engine; 78: the registry does not accept the
credentials.`,
		Example: `  sbx-devc image pull ghcr.io/me/sandbox:v1.2.3
  sbx-devc image pull --pinned sandbox-image.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, operands []string) error {
			ref := ""
			switch {
			case len(operands) == 1 && pin == "":
				ref = operands[0]
			case len(operands) == 0 && pin != "":
				data, err := os.ReadFile(pin)
				if err != nil {
					return imageError(fmt.Errorf("reading the pinned reference: %w", err))
				}
				if ref = strings.TrimSpace(string(data)); strings.ContainsAny(ref, " \t\n") || !strings.Contains(ref, "@sha256:") {
					return exitWith(exitConfig, diag.WithHint(fmt.Errorf("%s does not pin an image by digest", pin), "write one line NAME@sha256:…, as 'sbx-devc image push --pinned FILE' does"))
				}
			default:
				return exitWith(exitUsage, diag.WithHint(errors.New("name one image"), "write a reference, or --pinned FILE"))
			}
			options, err := a.registryOptions(l)
			if err != nil {
				return imageError(err)
			}
			return withEngine(cmd.Context(), func(e *engine.Engine) error {
				pulled, err := imagebuild.Pull(cmd.Context(), e, options, ref)
				if err != nil {
					return err
				}
				fmt.Fprintf(a.stderr, "sbx-devc: pulled %s, digest %s\n", ref, pulled.Digest)
				_, err = fmt.Fprintln(a.stdout, pulled.ID)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&pin, "pinned", "", "file that names the image by digest")
	l.flags(cmd.Flags())
	return cmd
}
