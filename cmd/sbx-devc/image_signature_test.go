package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/hostprogram"
	"github.com/org/claude-sandbox/internal/test/registrytest"
)

// toolStandIn puts a program into PATH that notes its arguments and the
// credentials that it finds, and ends as the file "exit" says.
func toolStandIn(t *testing.T, name string) (dir string) {
	t.Helper()
	dir = acceptedFolder(t, name)
	script := `#!/bin/sh
printf '%s\n' "$@" >` + dir + `/args
cat "$DOCKER_CONFIG/config.json" >` + dir + `/login 2>/dev/null
ls -l "$DOCKER_CONFIG/config.json" >` + dir + `/mode 2>/dev/null
echo "$DOCKER_CONFIG" >` + dir + `/where
echo "note: working" >&2
echo "Error: the reason" >&2
echo "  --help  and so on" >&2
exit $(cat ` + dir + `/exit 2>/dev/null || echo 0)
`
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return dir
}

// acceptedFolder is a new folder with an empty program, which is started: the caller writes
// into it. A folder or a file may get the number of a removed project of an earlier test in
// this process, whose programs are refused.
func acceptedFolder(t *testing.T, name string) string {
	t.Helper()
	for range 100 { // those that are refused stay meanwhile, with their numbers
		dir, err := os.MkdirTemp("", "sbx-tools-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		program := filepath.Join(dir, name)
		if err := os.WriteFile(program, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := hostprogram.Find(program); err == nil {
			return dir
		}
	}
	t.Fatal("all new folders are refused")
	return ""
}

func noted(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// Cosign is asked to sign the digest that is pushed, with the credentials of
// the push, and before any tag is written.
func TestPushHandsTheDigestToCosign(t *testing.T) {
	dir, addr := imageProject(t), registrytest.Start(t)
	cosign := toolStandIn(t, "cosign")
	ref := addr + "/me/x:v1.2.3"
	login := map[string]string{"stdin": "hunter2\n"}
	push := func(more ...string) (string, string, int) {
		return imageRun(t, login,
			append([]string{"image", "push", "--dir", dir, ref, "--sign", "cosign", "--username", "me", "--password-stdin"}, more...)...)
	}
	if err := os.WriteFile(filepath.Join(cosign, "exit"), []byte("3"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := push(); code != 1 || !strings.Contains(errs, "cosign: exit status 3: Error: the reason\n") {
		t.Errorf("a signature that fails: exit %d: %s", code, errs)
	}
	if out, _, code := imageRun(t, nil, "image", "inspect", ref); code == 0 {
		t.Errorf("a tag leads to an image that is not signed: %s", out)
	}
	if err := os.Remove(filepath.Join(cosign, "exit")); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"first", "unchanged"} {
		out, errs, code := push("--key", "env://KEY", "--sign-flag=--tlog-upload=false")
		if code != 0 {
			t.Fatalf("exit %d: %s", code, errs)
		}
		digest := out[strings.Index(out, "@"):]
		want := []string{"sign", "--yes", "--recursive", "--key=env://KEY", "--tlog-upload=false", addr + "/me/x" + digest}
		if got := strings.Split(noted(t, cosign, "args"), "\n"); !slices.Equal(got, want) {
			t.Errorf("%s: cosign was called with %q, want %q", what, got, want)
		}
		auth := base64.StdEncoding.EncodeToString([]byte("me:hunter2"))
		if got := noted(t, cosign, "login"); !strings.Contains(got, `"`+addr+`"`) || !strings.Contains(got, auth) ||
			!strings.HasPrefix(noted(t, cosign, "mode"), "-rw-------") {
			t.Errorf("%s: cosign found the credentials %s", what, got)
		}
		if _, err := os.Stat(noted(t, cosign, "where")); err == nil {
			t.Errorf("%s: the credentials are still in %s", what, noted(t, cosign, "where"))
		}
		if err := os.Remove(filepath.Join(cosign, "args")); err != nil {
			t.Fatal(err)
		}
	}
}

// The program's no is a finding, flags that say nothing are wrong usage, and
// without the program nothing is checked.
func TestVerifyTakesTheProgramsWord(t *testing.T) {
	addr := registrytest.Start(t)
	imageOK(t, "image", "push", "--init-only", addr+"/me/x:v1")
	verify := func(more ...string) (string, int) {
		out, errs, code := imageRun(t, nil, append([]string{"image", "verify", addr + "/me/x:v1", "--any-image", "--no-sbom"}, more...)...)
		return out + errs, code
	}
	t.Setenv("HOME", t.TempDir())
	for _, c := range []struct {
		program string
		flags   []string
	}{
		{"cosign", []string{"--signature=cosign", "--key=k.pub"}},
		{"gh", []string{"--signature=github", "--identity=me/x"}},
	} {
		program := toolStandIn(t, c.program)
		if out, code := verify(c.flags...); code != 0 || !strings.Contains(out, "signature: accepted") {
			t.Errorf("%q: exit %d: %s", c.flags, code, out)
		}
		if err := os.WriteFile(filepath.Join(program, "exit"), []byte("1"), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, code := verify(c.flags...); code != 1 ||
			!strings.Contains(out, "WRONG  signature: "+c.program+": exit status 1: Error: the reason") || strings.Contains(out, "and so on") {
			t.Errorf("%q, refused by %s: exit %d: %s", c.flags, c.program, code, out)
		}
	}
	for _, flags := range [][]string{{"--signature=cosign"}, {"--signature=pgp", "--key=k"}, {"--identity=i"}} {
		if out, code := verify(flags...); code != 2 {
			t.Errorf("%q: exit %d, want 2: %s", flags, code, out)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if out, code := verify("--signature=cosign", "--key=k.pub"); code != 3 || !strings.Contains(out, "cosign is not installed") {
		t.Errorf("without cosign: exit %d: %s", code, out)
	}
}
