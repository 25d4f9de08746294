package action

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Outputs are there in every case: also of a step that was killed, and of one that
// could not be started because an input is longer than a variable can be.
func TestCleanupReportsForARunThatCouldNot(t *testing.T) {
	for name, c := range map[string]struct {
		outcome, reported string
		began             bool
		conclusion, says  string
	}{
		"killed":               {outcome: "failure", began: true, conclusion: "failure", says: "killed"},
		"never started":        {outcome: "failure", conclusion: "config_error", says: "prompt_file"},
		"cancelled":            {outcome: "cancelled", began: true, conclusion: "cancelled", says: "cancelled"},
		"cancelled before":     {outcome: "skipped", conclusion: "cancelled", says: "cancelled"},
		"reported, and failed": {outcome: "failure", reported: "config_error"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			env := map[string]string{
				"RUNNER_TEMP": dir, "SBX_RUN_ID": "gha-1", "RUN_OUTCOME": c.outcome, "RUN_CONCLUSION": c.reported,
				"GITHUB_OUTPUT": filepath.Join(dir, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(dir, "summary"),
			}
			if c.began {
				if err := os.Mkdir(filepath.Join(dir, "claude-sandbox-gha-1"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			var log bytes.Buffer
			Cleanup(t.Context(), CleanupOptions{
				Getenv: func(name string) string { return env[name] }, Stdout: &log,
				Remove: func(context.Context, string) error { return nil },
			})
			output, _ := os.ReadFile(env["GITHUB_OUTPUT"])
			summary, _ := os.ReadFile(env["GITHUB_STEP_SUMMARY"])
			if c.conclusion == "" {
				if len(output)+len(summary)+log.Len() > 0 {
					t.Errorf("it speaks for a run that has spoken: %s %s %s", output, summary, log.String())
				}
				return
			}
			got := readOutputs(t, string(output))
			if got["conclusion"] != c.conclusion || !strings.Contains(got["result"], c.says) || !strings.Contains(string(summary), c.says) {
				t.Errorf("outputs %v, summary %s", got, summary)
			}
			if annotated := strings.Contains(log.String(), "::error"); annotated != (c.conclusion != "cancelled") {
				t.Errorf("the log says %s", log.String())
			}
		})
	}
}
