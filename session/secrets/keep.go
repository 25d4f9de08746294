package secrets

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/hostprogram"
	"github.com/org/claude-sandbox/settings"
)

// Keyring is where this machine keeps a secret of a service: the keyring of the user's
// session, or pass where no program of a keyring is installed. The error says what to
// install.
func Keyring(service, account string) (settings.Reference, error) {
	keyring := settings.Reference{Kind: settings.ReferenceKeyring, Of: service + "/" + account}
	for _, r := range []settings.Reference{keyring, {Kind: settings.ReferencePass, Of: keyring.Of}} {
		if h, err := keeperOf(r, runtime.GOOS, ""); err != nil {
			return r, err
		} else if _, err := hostprogram.Find(h.argv[0]); err == nil {
			return r, nil
		}
	}
	return keyring, diag.WithHint(errors.New("no program of a keyring is installed here"),
		"install secret-tool (Debian: libsecret-tools, with gnome-keyring or another keyring) or pass")
}

// Keep gives a value, one line, to the program of a keyring or of pass. It replaces what
// is there. The value is on the program's standard input, never an argument.
func Keep(ctx context.Context, r settings.Reference, value string) error {
	h, err := keeperOf(r, runtime.GOOS, value)
	if err == nil {
		_, err = h.run(ctx)
	}
	return err
}

// Forget removes a value that Keep has kept.
func Forget(ctx context.Context, r settings.Reference) error {
	h, err := helperOf(r, runtime.GOOS)
	if err != nil {
		return err
	}
	h.hint = ""
	switch h.argv[0] {
	case "secret-tool":
		h.argv[1] = "clear"
	case "security":
		h.argv = append([]string{"security", "delete-generic-password"}, h.argv[2:6]...)
	case "pass":
		h.argv = []string{"pass", "rm", "--force", r.Of}
	default:
		return fmt.Errorf("%s keeps nothing for us", h.argv[0])
	}
	_, err = h.run(ctx)
	return err
}

// keeperOf is the program that keeps a value under a reference.
func keeperOf(r settings.Reference, system, value string) (helper, error) {
	h, err := helperOf(r, system) // that looks it up
	if err != nil {
		return h, err
	}
	h.hint, h.input = "", value
	switch h.argv[0] {
	case "secret-tool":
		h.argv = append([]string{"secret-tool", "store", "--label", r.Of}, h.argv[2:]...)
		h.hint = "is a keyring running and unlocked? 'sbx-devc login' without --keyring keeps the key in a file"
	case "security": // which takes a command, too, from its input
		h.argv, h.input = []string{"security", "-i"}, fmt.Sprintf("add-generic-password -U -s %q -a %q -w %q\n", h.argv[3], h.argv[5], value)
	case "pass":
		h.argv = []string{"pass", "insert", "--multiline", "--force", r.Of}
		h.hint = "'pass init' makes a store; 'sbx-devc login' without --keyring keeps the key in a file"
	default:
		return h, fmt.Errorf("%s keeps nothing for us", h.argv[0])
	}
	return h, nil
}
