package main

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// fixOnATerminal lets fix --interactive ask on a terminal, where keys are typed ahead, and returns
// what the terminal shows and the file afterwards.
func fixOnATerminal(t *testing.T, src, keys string) (shown, after string, code int) {
	t.Helper()
	return fixUntil(t.Context(), t, src, keys)
}

// fixUntil is fixOnATerminal until ctx ends.
func fixUntil(ctx context.Context, t *testing.T, src, keys string) (shown, after string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), ".devcontainer", "devcontainer.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	master, terminal := testenv.Terminal(t)
	if _, err := master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
	read := make(chan []byte)
	go func() {
		out, _ := io.ReadAll(master) // EIO when the terminal is closed
		read <- out
	}()
	a := &app{stdin: terminal, stdout: terminal, stderr: terminal, getenv: func(string) string { return "" }}
	code = a.main(ctx, []string{"fix", "--interactive", file})
	terminal.Close()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(<-read), string(text), code
}

// TestFixAsks: one question for each change, with its difference, and the letters of git add -p.
func TestFixAsks(t *testing.T) {
	const image = `"image": "debian:13@sha256:0000000000000000000000000000000000000000000000000000000000000000"`
	src := "{\n  // mine\n  " + image + ",\n  \"init\": \"true\",\n  \"nmae\": \"x\",\n  \"Privileged\": false\n}\n"
	for _, tt := range []struct {
		name, keys string
		changes    []string // old and new
	}{
		{"yes, no, yes", "y\nn\ny\n", []string{`"true"`, "true", "Privileged", "privileged"}},
		{"all", "n\na\n", []string{"nmae", "name", "Privileged", "privileged"}},
		{"no more", "y\nd\n", []string{`"true"`, "true"}},
		{"quit", "y\nq\n", []string{`"true"`, "true"}},
		{"help", "?\nq\n", nil},
	} {
		shown, after, code := fixOnATerminal(t, src, tt.keys)
		want := strings.NewReplacer(tt.changes...).Replace(src)
		if after != want || code != 0 {
			t.Errorf("%s: exit %d, got\n%s\nwant\n%s", tt.name, code, after, want)
		}
		for _, text := range []string{"[SBX301]", `-  "init": "true"`, `+  "init": true`, "(1/3) Make this change? [y,n,a,d,q,?]"} {
			if !strings.Contains(shown, text) {
				t.Errorf("%s: the terminal does not show %q:\n%s", tt.name, text, shown)
			}
		}
		if asked := strings.Contains(shown, "(2/3) Was this meant?"); asked != (tt.name != "help") {
			t.Errorf("%s: a name that was probably meant: asked %v\n%s", tt.name, asked, shown)
		}
	}
}

// Who interrupts the questions is told that the file is as it was.
func TestFixSaysThatAnInterruptedDialogWroteNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const src = `{"image": "a:1", "init": "true"}` + "\n"
	shown, after, code := fixUntil(ctx, t, src, "")
	if after != src || code == 0 || !strings.Contains(shown, "nothing was written to ") {
		t.Errorf("exit %d, wrote %s, shown:\n%s", code, after, shown)
	}
}

// What costs something is asked with its cost.
func TestFixAsksWithTheCosts(t *testing.T) {
	const src = `{"image": "node:22", "overrideCommand": "false", "postCreateCommand": ["a && b" /* c */]}` + "\n"
	shown, after, code := fixOnATerminal(t, src, "n\nn\nn\n")
	for _, text := range []string{"This would take out a comment. Was it meant?", "This would lead to an error: "} {
		if !strings.Contains(shown, text) {
			t.Errorf("the terminal does not show %q:\n%s", text, shown)
		}
	}
	if after != src || code != 0 {
		t.Errorf("exit %d, wrote %s", code, after)
	}
}

// TestFixOffersADigest: the image is pinned to what the registry has now.
func TestFixOffersADigest(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	image := strings.TrimPrefix(server.URL, "http://") + "/tool:1"
	ref, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, empty.Image); err != nil {
		t.Fatal(err)
	}
	digest, err := empty.Image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	shown, after, code := fixOnATerminal(t, `{"image": "`+image+`"}`+"\n", "y\n")
	if want := `{"image": "` + image + "@" + digest.String() + `"}` + "\n"; after != want || code != 0 {
		t.Errorf("exit %d, got %s\nwant %s\n%s", code, after, want, shown)
	}
}
