//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// muslImage has musl as its C library, as Alpine has it, and a shell that Claude
// Code takes; nothing else.
const muslImage = `FROM debian:bookworm-slim AS parts
RUN apt-get update && apt-get install -y --no-install-recommends musl bash-static busybox-static && mkdir -p /out/lib /out/bin && \
    cp -L /lib/ld-musl-*.so.1 /out/lib/ && cp /bin/bash-static /out/bin/bash && cp /bin/busybox /out/bin/cat
FROM scratch
COPY --from=parts /out/ /
ENV PATH=/bin
`

// Claude Code comes along with any image, and the firewall needs nothing of it.
func TestRunOnImagesOfOthers(t *testing.T) {
	musl := "sbx-run-image:musl"
	build := exec.CommandContext(t.Context(), "docker", "build", "-q", "-t", musl, "-")
	build.Stdin = strings.NewReader(muslImage)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, image := range map[string]string{"Debian": "debian:bookworm-slim", "musl": musl, "Node": "node:22-bookworm-slim"} {
		t.Run(name, func(t *testing.T) {
			cmd := runProgram(t, []string{scripted(t, "type claude >found; echo evil >>/opt/claude-sandbox/claude; echo evil >/opt/claude-sandbox/new; "+
				"cat /opt/claude-sandbox/claude >copy; :")}, "--image", image)
			var stdout, stderr bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("go"), &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s%s", err, &stderr, &stdout)
			}
			if found, err := os.ReadFile(filepath.Join(cmd.Dir, "found")); err != nil || string(found) != "claude is /opt/claude-sandbox/claude\n" {
				t.Errorf("the agent finds %q: %v", found, err)
			}
			// Attack: it can neither be changed nor read.
			if copied, err := os.ReadFile(filepath.Join(cmd.Dir, "copy")); err != nil || len(copied) > 0 {
				t.Errorf("%d bytes of Claude Code's program were read: %v", len(copied), err)
			}
			for _, want := range []string{"claude: Permission denied", "new: Read-only file system"} {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("it was not told %q: %s", want, &stdout)
				}
			}
		})
	}
}
