package action_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/sandbox/changes"
)

// Attack: the agent leaves what hosts and CI obey: repositories, files of editors,
// agents, shells and hooks, a workflow, a manifest. Each stands in the step
// summary, as an annotation and in the output.
func TestAttackFilesThatLaterStepsObey(t *testing.T) {
	files := []string{"sub/x/.git", ".envrc", ".mcp.json", ".pre-commit-config.yaml", ".github/workflows/evil.yml",
		"package.json", "src/plain.go"}
	script := `cd /workspace; mkdir -p sub/x .github/workflows src; git init -q sub/x; for f in .envrc .mcp.json .pre-commit-config.yaml ` +
		`.github/workflows/evil.yml package.json src/plain.go; do echo evil > $f; done; ls -A`
	s := startStep(t, &fakeapi.Server{Script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{script}}}}}, "INPUT_SUMMARY=true")
	s.wantConclusion(0, "success")
	annotations := 0
	var warnings strings.Builder
	for line := range strings.Lines(s.log.String()) {
		if strings.HasPrefix(line, "::warning") {
			annotations++
			warnings.WriteString(line)
		}
	}
	if annotations == 0 || annotations > 9 {
		t.Errorf("%d annotations", annotations)
	}
	output := s.output("changed_files")
	for _, file := range files {
		if !strings.Contains(s.file("summary"), file) {
			t.Errorf("%s is not in the summary:\n%s", file, s.file("summary"))
		}
		if file != "src/plain.go" && !strings.Contains(warnings.String(), file) {
			t.Errorf("%s is in no annotation:\n%s", file, warnings.String())
		}
		if !strings.Contains("\n"+output, "\n"+file) {
			t.Errorf("%s is not in changed_files: %q", file, output)
		}
	}
	if patch, err := os.ReadFile(filepath.Join(s.dir, "temp", "claude-sandbox-"+s.id, changes.PatchFile)); err != nil ||
		!bytes.Contains(patch, []byte("+++ b/.github/workflows/evil.yml\n")) {
		t.Errorf("the diff in the report folder: %v\n%s", err, patch)
	}
}

// output is one of the step's outputs.
func (s *stepRun) output(name string) string {
	_, after, _ := strings.Cut(s.file("output"), name+"<<")
	delimiter, rest, _ := strings.Cut(after, "\n")
	value, _, _ := strings.Cut(rest, "\n"+delimiter)
	return value
}

// A step on a copy leaves the checkout as it is, and its changes in the patch.
func TestCopyOfTheCheckout(t *testing.T) {
	server, hits := countingServer(t, bridgeGateway(t))
	script := `cd /workspace; mkdir -p .github/workflows src; echo evil >.github/workflows/evil.yml; ` +
		`echo "$WORD" >src/plain.go; curl -sm5 http://` + server
	s := startStep(t, &fakeapi.Server{Script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{script}}}}},
		"INPUT_WORKSPACE_MODE=copy", "INPUT_EGRESS=none", "INPUT_ENV=WORD=of the workflow", "INPUT_MEMORY=1g", "INPUT_CPUS=1")
	s.wantConclusion(0, "success")
	if left, err := os.ReadDir(filepath.Join(s.dir, "workspace")); err != nil || len(left) > 0 {
		t.Errorf("the checkout has %v, %v", left, err)
	}
	if got := s.output("protected_files"); got != ".github/workflows/evil.yml" {
		t.Errorf("protected_files: %q", got)
	}
	if hits.Load() > 0 {
		t.Error("with egress none a server was reached")
	}
	patch, err := os.ReadFile(s.output("patch_file"))
	if err != nil || !bytes.Contains(patch, []byte("+++ b/src/plain.go\n@@ -0,0 +1,1 @@\n+of the workflow\n")) {
		t.Errorf("the patch: %v\n%s", err, patch)
	}
}
