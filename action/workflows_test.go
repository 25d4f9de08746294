package action

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// workflowFile is what the tests need of a workflow.
type workflowFile struct {
	Jobs map[string]struct {
		Permissions map[string]string `yaml:"permissions"`
		Steps       []workflowStep    `yaml:"steps"`
	} `yaml:"jobs"`
}

type workflowStep struct {
	Uses string            `yaml:"uses"`
	With map[string]string `yaml:"with"`
	Run  string            `yaml:"run"`
}

// inputsOf are the inputs of one of our Actions, by what "uses" says.
func inputsOf(t *testing.T, uses string) (names []string) {
	t.Helper()
	folder, _, _ := strings.Cut(strings.TrimPrefix(uses, "org/claude-sandbox"), "@")
	var file struct {
		Inputs map[string]any `yaml:"inputs"`
	}
	if err := yaml.Unmarshal([]byte(repoFile(t, filepath.Join(folder, "action.yml"))), &file); err != nil {
		t.Fatal(err)
	}
	return slices.Collect(maps.Keys(file.Inputs))
}

// checkUses compares the inputs of a step with those of the Action that it uses, if that is ours.
func checkUses(t *testing.T, where string, s workflowStep) {
	t.Helper()
	if !strings.HasPrefix(s.Uses, "org/claude-sandbox") || strings.Contains(s.Uses, ".github/") {
		return
	}
	known := inputsOf(t, s.Uses)
	for name := range s.With {
		if !slices.Contains(known, name) {
			t.Errorf("%s: %s has no input %s", where, s.Uses, name)
		}
	}
}

var reusable = []string{"review", "fix-issue", "update-dependencies", "prebuild"}

// A job with an agent may read the repository, and nothing else. Each workflow says what its
// risk is, and is in the docs.
func TestReusableWorkflows(t *testing.T) {
	docs := repoFile(t, "docs/action.md")
	for _, name := range reusable {
		text := repoFile(t, ".github/workflows/"+name+".yml")
		if head, _, _ := strings.Cut(text, "\nname: "); !strings.Contains(head, "\n# Risk: ") {
			t.Errorf("%s says nothing about its risk", name)
		}
		if !strings.Contains(docs, "uses: org/claude-sandbox/.github/workflows/"+name+".yml@v1") {
			t.Errorf("docs/action.md has no example for %s", name)
		}
		var file workflowFile
		if err := yaml.Unmarshal([]byte(text), &file); err != nil {
			t.Fatal(name, err)
		}
		for id, job := range file.Jobs {
			agent := slices.ContainsFunc(job.Steps, func(s workflowStep) bool { return s.Uses == "org/claude-sandbox@v1" })
			if agent && !maps.Equal(job.Permissions, map[string]string{"contents": "read"}) {
				t.Errorf("%s: the job %s has an agent and the permissions %v", name, id, job.Permissions)
			}
			for _, s := range job.Steps {
				checkUses(t, name, s)
				if strings.Contains(s.Run, "${{") {
					t.Errorf("%s: an expression is in a script: %s", name, s.Run)
				}
				if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != "false" {
					t.Errorf("%s: %s leaves its token", name, id)
				}
			}
		}
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// Every example of the pages gives our Actions and workflows inputs that they have.
func TestExamplesOfThePagesUseInputsThatAreThere(t *testing.T) {
	steps := 0
	for _, page := range []string{"README.md", "docs/action.md", "docs/migrate-action.md"} {
		for _, block := range yamlBlock.FindAllStringSubmatch(repoFile(t, page), -1) {
			var node yaml.Node
			if err := yaml.Unmarshal([]byte(block[1]), &node); err != nil {
				t.Errorf("%s: %v in\n%s", page, err, block[1])
				continue
			}
			var walk func(*yaml.Node)
			walk = func(n *yaml.Node) {
				var s workflowStep
				if n.Kind == yaml.MappingNode && n.Decode(&s) == nil && strings.HasPrefix(s.Uses, "org/claude-sandbox") {
					steps++
					checkUses(t, page, s)
					checkCall(t, page, s)
				}
				for _, c := range n.Content {
					walk(c)
				}
			}
			walk(&node)
		}
	}
	if steps < 10 {
		t.Errorf("%d steps were found", steps)
	}
}

// checkCall compares the inputs of a call with those of the workflow.
func checkCall(t *testing.T, page string, s workflowStep) {
	t.Helper()
	name, ours := strings.CutPrefix(s.Uses, "org/claude-sandbox/.github/workflows/")
	if !ours {
		return
	}
	name, _, _ = strings.Cut(name, "@")
	var file struct {
		On struct {
			Call struct {
				Inputs map[string]any `yaml:"inputs"`
			} `yaml:"workflow_call"`
		} `yaml:"on"`
	}
	if err := yaml.Unmarshal([]byte(repoFile(t, ".github/workflows/"+name)), &file); err != nil {
		t.Fatal(err)
	}
	for input := range s.With {
		if _, known := file.On.Call.Inputs[input]; !known {
			t.Errorf("%s: the workflow %s has no input %s", page, name, input)
		}
	}
}

// Nobody meets a release by v1 before its containers have started on each kind of runner.
func TestAReleaseMovesTagsAfterTheSmoke(t *testing.T) {
	var release, smoke struct {
		Jobs map[string]struct {
			Needs []string `yaml:"needs"`
			Uses  string   `yaml:"uses"`
		} `yaml:"jobs"`
	}
	for name, into := range map[string]any{"release": &release, "smoke": &smoke} {
		text := strings.ReplaceAll(repoFile(t, ".github/workflows/"+name+".yml"), "needs: publish", "needs: [publish]")
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "needs: build", "needs: [build]")), into); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Contains(release.Jobs["move"].Needs, "smoke") || release.Jobs["smoke"].Uses != "./.github/workflows/smoke.yml" {
		t.Errorf("release.yml moves v1 without the smoke: %+v", release.Jobs)
	}
	for _, job := range []string{"hosted", "container", "self-hosted"} {
		if _, ok := smoke.Jobs[job]; !ok {
			t.Errorf("smoke.yml lacks the job %s", job)
		}
	}
	if text := repoFile(t, ".github/workflows/smoke.yml"); !strings.Contains(text, "ubuntu-24.04-arm") {
		t.Error("smoke.yml runs on one architecture alone")
	}
}
