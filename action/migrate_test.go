package action

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/golden"
	"go.yaml.in/yaml/v4"
)

// otherAction is an action or a compiler of workflows that docs/migrate-action.md compares
// with ours.
type otherAction struct {
	Name string `yaml:"name"` // of its repository
	Read []struct {
		Version string `yaml:"version"` // for people
		At      string `yaml:"at"`      // commit or tag
		File    string `yaml:"file"`    // that was read
		Names   string `yaml:"names"`   // all that it has, by blanks; outputs begin with "outputs."
	} `yaml:"read"`
	Rows []migrationRow `yaml:"rows"`
}

// migrationRow says what becomes of some names.
type migrationRow struct {
	There []string `yaml:"there"` // names; behind ": " stands a value or an argument
	Here  []string `yaml:"here"`  // ours, see ownNames; none = Note says what to do instead
	Note  string   `yaml:"note"`
}

const migrationData = "testdata/migrate.yaml"

func otherActions(t *testing.T) (all []otherAction) {
	t.Helper()
	text, err := os.ReadFile(migrationData)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Load(text, &all, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	return all
}

// ownNames are the inputs and outputs of ours that a row can name: those of the Action as they
// are, those of another one behind its name and a dot.
func ownNames(t *testing.T) (names []string) {
	t.Helper()
	for prefix, file := range map[string]string{
		"": "action.yml", "apply.": "apply/action.yml", "comment.": "comment/action.yml", "prebuild.": ".github/workflows/prebuild.yml",
	} {
		type part struct {
			Inputs  map[string]any `yaml:"inputs"`
			Outputs map[string]any `yaml:"outputs"`
		}
		var f struct {
			part `yaml:",inline"`
			On   struct {
				Call part `yaml:"workflow_call"`
			} `yaml:"on"`
		}
		if err := yaml.Unmarshal([]byte(repoFile(t, file)), &f); err != nil {
			t.Fatal(file, err)
		}
		for _, p := range []part{f.part, f.On.Call} {
			for name := range maps.Keys(p.Inputs) {
				names = append(names, prefix+name)
			}
			for name := range maps.Keys(p.Outputs) {
				names = append(names, prefix+"outputs."+name)
			}
		}
	}
	return names
}

// shownNames are names as a cell of a table has them.
func shownNames(names []string) string {
	var cells []string
	for _, name := range names {
		owner := ""
		for _, one := range []string{"apply", "comment", "prebuild"} {
			if rest, found := strings.CutPrefix(name, one+"."); found {
				name, owner = rest, " of `"+one+"`"
			}
		}
		kind := ""
		if rest, found := strings.CutPrefix(name, "outputs."); found {
			name, kind = rest, "output "
		}
		cells = append(cells, kind+"`"+name+"`"+owner)
	}
	return strings.Join(cells, ", ")
}

// table is what docs/migrate-action.md has of an action.
func (o otherAction) table() string {
	var b strings.Builder
	var read []string
	for _, r := range o.Read {
		read = append(read, fmt.Sprintf("[%s](https://github.com/%s/blob/%s/%s)", r.Version, o.Name, r.At, r.File))
	}
	fmt.Fprintf(&b, "Read for this table: %s.\n\n| there | here | |\n|---|---|---|\n", strings.Join(read, " and "))
	for _, row := range o.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", shownNames(row.There), shownNames(row.Here), row.Note)
	}
	return b.String()
}

// docs/migrate-action.md has the tables of testdata/migrate.yaml; -update writes them there.
func TestMigrationPage(t *testing.T) {
	page := filepath.Join("..", "docs", "migrate-action.md")
	text := repoFile(t, "docs/migrate-action.md")
	for _, o := range otherActions(t) {
		begin, end := "<!-- table of "+o.Name+" -->\n", "<!-- end of the table -->"
		before, rest, found := strings.Cut(text, begin)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("the page has no place for the table of %s: %s%s", o.Name, begin, end)
		}
		text = before + begin + "\n" + o.table() + "\n" + end + after
	}
	if golden.Updating() {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text != repoFile(t, "docs/migrate-action.md") {
		t.Errorf("%s is not what %s says: run go test -short ./action -run TestMigrationPage -update", page, migrationData)
	}
}

// Every name that an action had when it was read has a row, and each row names what is there:
// theirs in the file that was read, ours in our own files.
func TestMigrationRowsAreCompleteAndTrue(t *testing.T) {
	all, own := otherActions(t), ownNames(t)
	inCode := regexp.MustCompile("`([a-z]+(?:_[a-z]+)+)`")
	for _, o := range all {
		known, rows := map[string]bool{}, map[string]bool{}
		for _, r := range o.Read {
			if names := strings.Fields(r.Names); len(names) < 15 || r.Version == "" || r.File == "" {
				t.Errorf("%s: %d names of %q, %q", o.Name, len(names), r.Version, r.File)
			}
			if !regexp.MustCompile(`^([0-9a-f]{40}|v\d+\.\d+\.\d+)$`).MatchString(r.At) {
				t.Errorf("%s: %q is no commit and no tag of a release", o.Name, r.At)
			}
			for name := range strings.FieldsSeq(r.Names) {
				known[name] = true
			}
		}
		seen := map[string]bool{}
		for _, row := range o.Rows {
			if len(row.There) == 0 || len(row.Here) == 0 && row.Note == "" {
				t.Errorf("%s: the row of %q names nothing, or does not say what to do instead", o.Name, row.There)
			}
			for _, name := range row.There {
				if seen[name] {
					t.Errorf("%s: %s has two rows", o.Name, name)
				}
				seen[name] = true
				base, _, _ := strings.Cut(name, ": ")
				rows[base] = true
			}
			for _, name := range row.Here {
				if !slices.Contains(own, name) {
					t.Errorf("%s: the row of %q names %s, and we have no such thing", o.Name, row.There, name)
				}
			}
			for _, m := range inCode.FindAllStringSubmatch(row.Note, -1) {
				if !slices.Contains(own, m[1]) && !slices.Contains(own, "outputs."+m[1]) {
					t.Errorf("%s: the note of %q names %s, and we have no such thing", o.Name, row.There, m[1])
				}
			}
			if strings.ContainsAny(row.Note, "|\n") {
				t.Errorf("%s: the note of %q breaks the table", o.Name, row.There)
			}
		}
		for name := range known {
			if !rows[name] {
				t.Errorf("%s: no row says what becomes of %s", o.Name, name)
			}
		}
		for name := range rows {
			if !known[name] {
				t.Errorf("%s: a row is about %s, which was in no file that was read", o.Name, name)
			}
		}
	}
	if len(all) != 4 {
		t.Errorf("%d actions", len(all))
	}
}
