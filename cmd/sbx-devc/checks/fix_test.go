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
	sayLeft(&cli.App{Stderr: &out}, []lint.Left{
		{Finding: f, Costs: lint.Costs{Also: []string{"mounts", "remoteUser"}}},
		{Finding: f, Costs: lint.Costs{Comments: 2, Brings: []diag.Finding{{Rule: "SBX326", Message: "the container ends at once"}}}},
		{Finding: f, Costs: lint.Costs{Comments: 1}},
		{Finding: f},
	})
	want := "sbx-devc: note: devcontainer.json:3: SBX207 is left as it is: the correction would also change mounts, " +
		"remoteUser; --interactive shows it\n" +
		"sbx-devc: note: devcontainer.json:3: SBX207 is left as it is: the correction would take out 2 comments; and " +
		"lead to an error: the container ends at once [SBX326]; --interactive shows it\n" +
		"sbx-devc: note: devcontainer.json:3: SBX207 is left as it is: the correction would take out a comment; " +
		"--interactive shows it\n" +
		"sbx-devc: note: devcontainer.json:3: SBX207 is left as it is: there are too many corrections at once; run fix again\n"
	if out.String() != want {
		t.Errorf("got %s\nwant %s", &out, want)
	}
}
