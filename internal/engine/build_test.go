package engine

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
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

func TestGarbledBuildKitProgress(t *testing.T) {
	for _, status := range []string{"\xff", field(1, "\x0a\x7f"), field(1, "abc")[:3]} {
		if _, err := progress(stream("", status), io.Discard); err == nil || !strings.Contains(err.Error(), "builder's progress") {
			t.Errorf("%q: %v", status, err)
		}
	}
}
