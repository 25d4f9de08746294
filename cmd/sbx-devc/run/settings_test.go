package run

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
)

// Attack: the agent adds to the list that --allow reads, for the next run.
func TestAgentCannotChangeTheListOfAFlag(t *testing.T) {
	project := t.TempDir()
	if err := os.WriteFile(filepath.Join(project, "hosts.txt"), []byte("docs.example.com\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(t.TempDir(), "mine.txt")
	if err := os.WriteFile(mine, []byte("mine.example.com\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := SettingsFlags{allow: []string{"a.example.com", "@" + filepath.Join(project, "hosts.txt"), "@" + mine}}
	user, err := o.Read(project)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(user.Workspace.Protect, []string{"hosts.txt"}) {
		t.Fatalf("the files are %q", user.Workspace.Protect)
	}
	p, err := session.ReadProject(project)
	if err != nil {
		t.Fatal(err)
	}
	options := runplan.Options{ID: "test", Layers: runplan.Layers{User: user}}
	s, err := p.Effective(options)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.Plan(options, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range plan.Agent.Mounts {
		if strings.HasSuffix(m.Target, "/hosts.txt") && m.ReadOnly {
			return
		}
	}
	t.Errorf("the list can be changed: %+v", plan.Agent.Mounts)
}
