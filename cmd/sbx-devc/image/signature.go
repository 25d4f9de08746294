package image

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/imagebuild/sign"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// signing is what the flags say about the signature that a push makes.
type signing struct {
	program string
	cosign  sign.Cosign
}

func (s *signing) flags(f *pflag.FlagSet) {
	f.StringVar(&s.program, "sign", "", "sign before the tags are written: cosign")
	f.StringVar(&s.cosign.Key, "key", "",
		"cosign's private key: a file, env://NAME or a key service's address (default: COSIGN_KEY, or none and your identity)")
	f.StringArrayVar(&s.cosign.Args, "sign-flag", nil, "a further flag for cosign sign, such as --signing-config=FILE (repeatable)")
}

// signer returns the function that signs an image by digest; nil = do not sign.
func signer(a *cli.App, s signing, c registry.Credentials) (sign.Func, error) {
	switch s.program {
	case "":
		if s.cosign.Key != "" || len(s.cosign.Args) > 0 {
			return nil, exitcode.With(exitcode.Usage, diag.WithHint(errors.New("--key and --sign-flag say how to sign, and nothing signs"),
				"add --sign cosign"))
		}
		return nil, nil
	case "cosign":
	default:
		return nil, exitcode.With(exitcode.Usage, cli.UnknownValue("sign", s.program, "cosign"))
	}
	s.cosign.Messages = a.Stderr
	if cli.IsTerminal(a.Stdin) { // it may ask for a password, or print where to log in
		s.cosign.Stdin = a.Stdin
	}
	signer, err := s.cosign.Signer(c)
	if err != nil {
		return nil, exitcode.With(exitcode.NoInput, err)
	}
	return signer, nil
}

// signatureFlags define what the signature of an image must be.
func signatureFlags(f *pflag.FlagSet, r *sign.Requirement) {
	f.StringVar(&r.Kind, "signature", "", "require a signature: cosign, or github (gh attestation verify)")
	f.StringVar(&r.Key, "key", "", "the public key that must have signed, for cosign: a file, env://NAME or a key service's address")
	f.StringVar(&r.Identity, "identity", "", "the required signer: for cosign the certificate's identity, for github OWNER/REPOSITORY")
	f.StringVar(&r.Issuer, "issuer", "https://token.actions.githubusercontent.com", "the authority for the identity, for cosign")
	f.StringArrayVar(&r.Args, "signature-flag", nil, "a further flag for cosign verify or gh attestation verify (repeatable)")
}
