package checks

import (
	"bytes"
	"testing"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
)

// A correction that fix leaves out is named, with the reason.
func TestFixSaysWhatItLeaves(t *testing.T) {
	var out bytes.Buffer
	f := diag.Finding{Rule: "SBX207", File: "devcontainer.json", Line: 3}
	sayLeft(&cli.App{Stderr: &out}, []lint.Left{{Finding: f, Also: []string{"mounts", "remoteUser"}}, {Finding: f}})
	want := "sbx-devc: note: devcontainer.json:3: SBX207 is left as it is: the correction would also change mounts, " +
		"remoteUser; --interactive shows it\n" +
		"sbx-devc: note: devcontainer.json:3: SBX207 is left as it is: there are too many corrections at once; run fix again\n"
	if out.String() != want {
		t.Errorf("got %s\nwant %s", &out, want)
	}
}
