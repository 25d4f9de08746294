package sign

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/diag"
)

// standIn puts a program into PATH that notes its arguments and the credentials
// that it finds, and ends with the code.
func standIn(t *testing.T, name string, code string) (noted func(string) string) {
	t.Helper()
	dir := t.TempDir()
	script := `#!/bin/sh
printf '%s\n' "$@" >` + dir + `/args
cat "$DOCKER_CONFIG/config.json" >` + dir + `/login 2>/dev/null
ls -l "$DOCKER_CONFIG/config.json" >` + dir + `/mode 2>/dev/null
echo "$DOCKER_CONFIG" >` + dir + `/where
echo "note: working" >&2
echo "error during command execution: the reason" >&2
echo "  --help  and so on" >&2
exit ` + code + "\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func(file string) string {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
}

const ref = "registry.example/me/x@sha256:1111111111111111111111111111111111111111111111111111111111111111"

func login(t *testing.T) registry.Credentials {
	return registry.Credentials{Username: "me", Password: "hunter2", Getenv: func(string) string { return "" }, Home: t.TempDir()}
}

// The demands on a signature are in the arguments of the program that checks it,
// so that no variable of cosign's changes it.
func TestVerifyAsksForExactlyThisSigner(t *testing.T) {
	for _, c := range []struct {
		program  string
		required Requirement
		want     []string
	}{
		{"cosign", Requirement{Kind: "cosign", Key: "k.pub", Args: []string{"--private-infrastructure"}},
			[]string{"verify", "--check-claims=true", "--key=k.pub", "--private-infrastructure", ref}},
		{"cosign", Requirement{Kind: "cosign", Identity: "me@example.com", Issuer: "https://issuer.example"},
			[]string{"verify", "--check-claims=true", "--key=", "--certificate-identity=me@example.com",
				"--certificate-oidc-issuer=https://issuer.example", ref}},
		{"gh", Requirement{Kind: "github", Identity: "me/x", Args: []string{"--bundle-from-oci"}},
			[]string{"attestation", "verify", "--repo=me/x", "--bundle-from-oci", "oci://" + ref}},
	} {
		noted := standIn(t, c.program, "0")
		check, err := c.required.Checker(login(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := check(t.Context(), ref); err != nil {
			t.Errorf("%+v: %v", c.required, err)
		}
		if got := strings.Split(noted("args"), "\n"); !slices.Equal(got, c.want) {
			t.Errorf("%s was called with %q, want %q", c.program, got, c.want)
		}
		standIn(t, c.program, "1")
		if check, err = c.required.Checker(login(t)); err != nil {
			t.Fatal(err)
		}
		if err := check(t.Context(), ref); err == nil || err.Error() != c.program+": exit status 1: the reason" {
			t.Errorf("%+v, refused: %v", c.required, err)
		}
	}
}

func TestRequirementThatSaysNothingIsRefused(t *testing.T) {
	standIn(t, "cosign", "0")
	standIn(t, "gh", "0")
	for _, r := range []Requirement{
		{Kind: "cosign"}, {Kind: "cosign", Key: "k", Identity: "i"}, {Kind: "pgp", Key: "k"}, {Kind: "github"},
		{Kind: "github", Key: "k"}, {Kind: "github", Key: "k", Identity: "me/x"}, {Key: "k"}, {Identity: "i"}, {Args: []string{"--x"}},
	} {
		if check, err := r.Checker(login(t)); check != nil || !errors.Is(err, ErrFlags) || diag.HintOf(err) == "" {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if check, err := (Requirement{Issuer: "https://issuer.example"}).Checker(login(t)); check != nil || err != nil {
		t.Errorf("none is required: %v", err)
	}
}

func TestWithoutTheProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := (Requirement{Kind: "github", Identity: "me/x"}).Checker(login(t)); !errors.Is(err, ErrNotInstalled) {
		t.Error(err)
	}
	if _, err := (Cosign{}).Signer(login(t)); !errors.Is(err, ErrNotInstalled) {
		t.Error(err)
	}
}

// Cosign gets the credentials in a file that only this user can read and that is
// gone afterwards, and never as arguments.
func TestSignerLendsTheCredentials(t *testing.T) {
	noted := standIn(t, "cosign", "0")
	var messages bytes.Buffer
	signer, err := Cosign{Key: "env://KEY", Args: []string{"--tlog-upload=false"}, Messages: &messages}.Signer(login(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := signer(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	want := []string{"sign", "--yes", "--recursive", "--key=env://KEY", "--tlog-upload=false", ref}
	if got := strings.Split(noted("args"), "\n"); !slices.Equal(got, want) {
		t.Errorf("cosign was called with %q, want %q", got, want)
	}
	auth := base64.StdEncoding.EncodeToString([]byte("me:hunter2"))
	if got := noted("login"); !strings.Contains(got, `"registry.example"`) || !strings.Contains(got, auth) ||
		!strings.HasPrefix(noted("mode"), "-rw-------") {
		t.Errorf("cosign found the credentials %s, mode %s", got, noted("mode"))
	}
	if _, err := os.Stat(noted("where")); err == nil {
		t.Errorf("the credentials are still in %s", noted("where"))
	}
	if !strings.Contains(messages.String(), "note: working") {
		t.Errorf("cosign's messages: %q", messages.String())
	}
}
