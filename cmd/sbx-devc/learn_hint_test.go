package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/cmd/sbx-devc/run"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/sandbox"
)

// The command that the end of a run in mode audit prints works as it is printed:
// in the project's folder and elsewhere, with settings and without.
func TestLearnHintWorksAsPrinted(t *testing.T) {
	for name, c := range map[string]struct{ settings, here bool }{
		"in a project with settings": {true, true}, "in one without": {false, true},
		"elsewhere": {true, false}, "elsewhere without settings": {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			state, project := t.TempDir(), filepath.Join(projects.Real(t.TempDir()), "a project's folder")
			if err := os.MkdirAll(filepath.Join(project, ".devcontainer"), 0o755); err != nil {
				t.Fatal(err)
			}
			if c.settings {
				if err := os.WriteFile(filepath.Join(project, projects.DefaultSettings), []byte(`{"network": {"mode": "audit"}}`), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(t.TempDir())
			if c.here {
				t.Chdir(project)
			}
			const id = "20260102-000000-aaaaaa"
			record := audit.Record{Verdict: firewall.Allow, Layer: audit.LayerDNS, Name: "docs.example.com", Rule: firewall.RuleUnlisted}
			folder := filepath.Join(state, "sbx-devc", "runs", id)
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			line := `{"ts":"2026-01-02T00:00:00Z","verdict":"allow","layer":"dns","name":"docs.example.com","rule":"` +
				firewall.RuleUnlisted + `"}` + "\n"
			for file, text := range map[string]string{"audit.jsonl": line, "policy.json": `{"network": {"mode": "audit"}}`} {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var stdout, stderr bytes.Buffer
			a := &app{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, getenv: func(name string) string {
				return map[string]string{"XDG_STATE_HOME": state}[name]
			}}
			policy, _ := firewall.NewPolicy(firewall.Network{Mode: firewall.ModeAudit})
			egress := report.New([]audit.Record{record}, policy)
			run.Report(a.cli(), &sandbox.Result{ID: id, Folder: project, SettingsFolder: project, Egress: egress}, firewall.ModeAudit)
			said := regexp.MustCompile(`(?m)lacks: sbx-devc (.*)$`).FindStringSubmatch(stderr.String())
			if said == nil {
				t.Fatalf("no hint: %s", stderr.String())
			}
			code := a.main(context.Background(), shellFields(said[1]))
			if code != exitOK || !strings.Contains(stdout.String(), "docs.example.com") {
				t.Errorf("sbx-devc %s ends with %d: %s%s", said[1], code, stdout.String(), stderr.String())
			}
		})
	}
}

// shellFields splits a line at blanks outside of single quotes.
func shellFields(line string) (words []string) {
	line = strings.ReplaceAll(line, `'\''`, "\x00")
	for i, part := range strings.Split(line, "'") {
		if i%2 == 0 {
			words = append(words, strings.Fields(part)...)
		} else {
			words = append(words, strings.ReplaceAll(part, "\x00", "'"))
		}
	}
	return words
}
