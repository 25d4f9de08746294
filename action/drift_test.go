package action

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// actionFile is what the tests need of action.yml: names below inputs and
// outputs, and its lines. The file keeps to two blanks a level.
type actionFile struct {
	inputs, outputs []string
	text            string
}

func readActionFile(t *testing.T) actionFile {
	t.Helper()
	f := actionFile{text: repoFile(t, "action.yml")}
	section := ""
	for line := range strings.SplitSeq(f.text, "\n") {
		if name, ok := strings.CutSuffix(line, ":"); ok && name != "" && name[0] != ' ' && name[0] != '#' {
			section = name
		}
		m := regexp.MustCompile(`^  ([a-z_]+):$`).FindStringSubmatch(line)
		switch {
		case m == nil:
		case section == "inputs":
			f.inputs = append(f.inputs, m[1])
		case section == "outputs":
			f.outputs = append(f.outputs, m[1])
		}
	}
	if len(f.inputs) == 0 || len(f.outputs) == 0 {
		t.Fatal("action.yml was not understood")
	}
	return f
}

func repoFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestInputsOfActionFileCodeAndDocsAgree(t *testing.T) {
	f, docs := readActionFile(t), repoFile(t, "docs/action.md")
	_, answers, _ := strings.Cut(repoFile(t, "docs/specification.md"), "\n## A step of a workflow\n")
	for _, name := range slices.Concat(f.inputs, f.outputs) {
		if !strings.Contains(answers, "`"+name+"`") {
			t.Errorf("docs/specification.md says nothing of %s", name)
		}
	}
	var fields []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Inputs]()) {
		if !field.Anonymous { // its own are among them
			fields = append(fields, field.Tag.Get("input"))
		}
	}
	// The inputs that the code asks for: a field without a read would be a promise.
	asked := map[string]bool{}
	workspace := t.TempDir()
	_, _ = ParseInputs(func(name string) string { asked[name] = true; return "" }, func(string) string { return workspace })
	for _, name := range f.inputs {
		variable := "INPUT_" + strings.ToUpper(name)
		if !strings.Contains(f.text, "        "+variable+": ${{ inputs."+name+" }}\n") {
			t.Errorf("action.yml: the Run step does not pass %s", variable)
		}
		if !slices.Contains(fields, name) || !asked[name] {
			t.Errorf("input %s is not read by the code", name)
		}
		if !strings.Contains(docs, "| `"+name+"` |") {
			t.Errorf("docs/action.md has no row for input %s", name)
		}
	}
	for _, name := range fields {
		if !slices.Contains(f.inputs, name) {
			t.Errorf("Inputs has a field for %q, which action.yml lacks", name)
		}
	}
	if n := strings.Count(f.text, "INPUT_"); n != len(f.inputs) {
		t.Errorf("action.yml passes %d inputs, and has %d", n, len(f.inputs))
	}
}

func TestOutputsOfActionFileCodeAndDocsAgree(t *testing.T) {
	f, docs := readActionFile(t), repoFile(t, "docs/action.md")
	var written []string
	for _, p := range (Outputs{}).pairs() {
		written = append(written, p.name)
	}
	for _, name := range f.outputs {
		value := "value: ${{ steps.run.outputs." + name
		if slices.Contains([]string{"conclusion", "result", "execution_file", "report_dir"}, name) {
			value += " || steps.cleanup.outputs." + name // of a run that could not report itself
		}
		if !slices.Contains(written, name) || !strings.Contains(f.text, value+" ") {
			t.Errorf("output %s is not written or not passed on", name)
		}
		if !strings.Contains(docs, "| `"+name+"` |") {
			t.Errorf("docs/action.md has no row for output %s", name)
		}
	}
	if len(written) != len(f.outputs) {
		t.Errorf("the code writes %v, action.yml has %v", written, f.outputs)
	}
}

// The default in a row of docs/action.md is the Action's.
func TestDefaultsOfThePageAreTheActions(t *testing.T) {
	docs, rows := repoFile(t, "docs/action.md"), 0
	for _, file := range []string{"action.yml", "apply/action.yml", "comment/action.yml"} {
		var f struct {
			Inputs map[string]struct {
				Default string `yaml:"default"`
			} `yaml:"inputs"`
		}
		if err := yaml.Unmarshal([]byte(repoFile(t, file)), &f); err != nil {
			t.Fatal(err)
		}
		for name, in := range f.Inputs {
			if in.Default == "" || strings.HasPrefix(in.Default, "${{") {
				continue
			}
			if rows++; !strings.Contains(docs, "\n| `"+name+"` | `"+in.Default+"` |") {
				t.Errorf("docs/action.md does not say that %s of %s is %s by default", name, file, in.Default)
			}
		}
	}
	if rows < 15 {
		t.Errorf("%d defaults", rows)
	}
}

// An expression inside a script becomes part of the script before the shell
// reads it: a prompt could run commands on the runner.
func TestAttackInputBecomesScript(t *testing.T) {
	runs := 0
	for line := range strings.SplitSeq(readActionFile(t).text, "\n") {
		if script, ok := strings.CutPrefix(strings.TrimSpace(line), "run:"); ok {
			runs++
			if strings.Contains(script, "${{") {
				t.Errorf("an expression in a script: %s", script)
			}
			if !strings.HasPrefix(script, " exec ") {
				t.Errorf("the shell stays between the runner's signals and the program: %s", script)
			}
		}
	}
	if runs != 3 {
		t.Errorf("found %d scripts, want 3 on one line each", runs)
	}
}

// A job of ours has the permissions that it names, and no other.
func TestWorkflowsHaveNoPermissionsByDefault(t *testing.T) {
	workflows, err := filepath.Glob(filepath.Join("..", ".github", "workflows", "*.yml"))
	if err != nil || len(workflows) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	for _, name := range workflows {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\npermissions: {}\n") {
			t.Errorf("%s: permissions are not empty by default", name)
		}
	}
}
