package engine

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/org/claude-sandbox/internal/diag"
)

// field writes a text field of a protobuf message.
func field(number protowire.Number, data string) string {
	return string(protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), data))
}

// stream is what an engine sends: BuildKit's statuses, and an error at the end.
func stream(failure string, statuses ...string) io.Reader {
	var out strings.Builder
	for _, s := range statuses {
		fmt.Fprintf(&out, "{\"id\":\"moby.buildkit.trace\",\"aux\":%q}\n", base64.StdEncoding.EncodeToString([]byte(s)))
	}
	if failure != "" {
		fmt.Fprintf(&out, "{\"errorDetail\":{\"message\":%q},\"error\":%q}\n", failure, failure)
	}
	return strings.NewReader(out.String())
}

func TestBuildKitProgressInPlainLines(t *testing.T) {
	begun, over := field(5, ""), field(6, "")
	base, run := field(1, "sha256:a")+field(3, "[1/2] FROM base"), field(1, "sha256:b")+field(3, "[2/2] RUN make")
	var out strings.Builder
	_, err := progress(stream("make failed",
		field(1, base)+field(1, run), // known, not begun
		field(1, base+begun),
		field(1, base+begun+over+string(protowire.AppendVarint(protowire.AppendTag(nil, 4, protowire.VarintType), 1))),
		field(1, run+begun)+field(3, field(1, "sha256:b")+field(4, "compiling\n\x1b[31mno rule\x1b[0m\n")),
		field(1, run+begun+over+field(7, "exit code: 2")),
	), &out)
	want := "#1 [1/2] FROM base\n#1 cached\n#2 [2/2] RUN make\n#2 compiling\n#2 \x1b[31mno rule\x1b[0m\n#2 failed: exit code: 2\n"
	if out.String() != want {
		t.Errorf("got\n%q, want\n%q", out.String(), want)
	}
	if err == nil || err.Error() != "make failed; the step said last:\ncompiling\nno rule" {
		t.Errorf("the error is %v", err)
	}
}

// A base image that nobody gives is named, with what helps, before the builder's own words.
func TestABaseImageThatCannotBePulled(t *testing.T) {
	const raw = "failed to do request: no such host"
	asked := func(name string) io.Reader {
		vertex := field(1, "sha256:a") + field(3, name)
		return stream("failed to solve: "+raw, field(1, vertex+field(5, "")), field(1, vertex+field(5, "")+field(6, "")+field(7, raw)))
	}
	vertex := func(digest, name, failure string) string {
		return field(1, digest) + field(3, name) + field(5, "") + field(6, "") + field(7, failure)
	}
	classic := func(step string) io.Reader {
		return strings.NewReader(fmt.Sprintf("{\"stream\":%q}\n{\"errorDetail\":{\"message\":%q}}\n", step, raw))
	}
	for name, tt := range map[string]struct {
		from        io.Reader
		image, hint string // "" = it is not about a base image
	}{
		"BuildKit":        {asked("[internal] load metadata for docker.io/library/alpine:3"), "alpine:3", "'docker login' before"},
		"PrivateRegistry": {asked("[internal] load metadata for ghcr.io/a/b:1"), "ghcr.io/a/b:1", "'docker login ghcr.io' before"},
		"SyntaxLine": {asked("resolve image config for docker-image://docker.io/docker/dockerfile:9"), "docker/dockerfile:9",
			"'docker login' before"},
		"OneOfMany": {stream("failed to solve: "+raw,
			field(1, vertex("a", "[internal] load metadata for docker.io/library/a:1", "context canceled")),
			field(1, vertex("b", "[internal] load metadata for ghcr.io/a/b:1", raw)),
			field(1, vertex("c", "[internal] load metadata for docker.io/library/c:1", "context canceled"))), "ghcr.io/a/b:1",
			"'docker login ghcr.io' before"},
		"AnotherStep": {asked("[2/2] RUN make"), "", ""},
		"Classic": {classic("Step 1/2 : FROM --platform=linux/amd64 localhost:5000/b AS x"), "localhost:5000/b",
			"'docker login localhost:5000' before"},
		"Podman":            {classic("STEP 1/2: FROM alpine"), "alpine", "'docker login' before"},
		"ClassicLaterOnRun": {io.MultiReader(strings.NewReader(`{"stream": "Step 1/2 : FROM alpine"}`), classic("Step 2/2 : RUN make")), "", ""},
	} {
		_, err := progress(tt.from, io.Discard)
		says := err != nil && strings.HasPrefix(err.Error(), "the base image "+tt.image+" cannot be pulled: ")
		if err == nil || !strings.Contains(err.Error(), raw) || says != (tt.image != "") || !strings.Contains(diag.HintOf(err), tt.hint) {
			t.Errorf("%s: %v; hint %q", name, err, diag.HintOf(err))
		}
	}
}

func TestGarbledBuildKitProgress(t *testing.T) {
	for _, status := range []string{"\xff", field(1, "\x0a\x7f"), field(1, "abc")[:3]} {
		if _, err := progress(stream("", status), io.Discard); err == nil || !strings.Contains(err.Error(), "builder's progress") {
			t.Errorf("%q: %v", status, err)
		}
	}
}
