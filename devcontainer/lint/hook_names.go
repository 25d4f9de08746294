package lint

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// naming is a program with options whose value is a folder or a file of the project without which it fails.
type naming struct {
	program string
	flags   []string
	verbs   []string // one of which the command has; nil = any
}

var namings = []naming{
	{"npm", []string{"--prefix", "-C"}, []string{"ci", "run", "test", "start"}}, // npm install makes the folder
	{"pnpm", []string{"--dir", "-C"}, nil},
	{"yarn", []string{"--cwd"}, nil},
	{"make", []string{"-C", "--directory", "-f", "--file"}, nil},
	{"composer", []string{"-d", "--working-dir"}, nil},
	{"terraform", []string{"-chdir"}, nil},
	{"mvn", []string{"-f", "--file"}, nil},
	{"gradle", []string{"-p", "--project-dir"}, nil},
	{"cargo", []string{"--manifest-path"}, nil},
	{"conda", []string{"-f", "--file"}, []string{"env", "create", "install", "update"}},
	{"mamba", []string{"-f", "--file"}, []string{"env", "create", "install", "update"}},
	{"micromamba", []string{"-f", "--file"}, []string{"env", "create", "install", "update"}},
	{"docker", []string{"-f", "--file"}, []string{"compose", "build"}},
	{"docker-compose", []string{"-f", "--file"}, nil},
	{"bundle", []string{"--gemfile"}, nil},
	{"poetry", []string{"-C", "--directory", "-P", "--project"}, nil},
	{"uv", []string{"--directory", "--project"}, nil},
	{"pip", []string{"-c", "--constraint", "-e", "--editable"}, []string{"install"}},
	{"pip3", []string{"-c", "--constraint", "-e", "--editable"}, []string{"install"}},
	{"go", []string{"-C"}, nil},
	{"just", []string{"-f", "--justfile", "-d", "--working-directory"}, nil},
	{"task", []string{"-t", "--taskfile", "-d", "--dir"}, nil},
	{"psql", []string{"-f", "--file"}, nil},
	{"cmake", []string{"-S"}, nil},
	{"pre-commit", []string{"-c", "--config"}, []string{"run", "install"}},
}

// fileOperands are programs whose operand is a file of the project when it has one of these ends, and the verbs in front of it.
var fileOperands = map[string]struct {
	verbs []string
	ends  []string
}{
	"dotnet":           {[]string{"restore", "build", "test"}, []string{".sln", ".slnx", ".csproj", ".fsproj"}},
	"ansible-playbook": {nil, []string{".yml", ".yaml"}},
	"psql":             {nil, []string{".sql"}},
}

// onlyPath matches what may be a path below the folder.
var onlyPath = lazyregexp.New(`^(\./)?[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*/?$`)

// namedMissing reports a file or a folder that a command is told to use and that is not there; its message is "" when it may be.
func namedMissing(v *rule.View, folder string, cmd *shell.Command) rule.Finding {
	name := cmd.Name()
	var words []shell.Word
	at := slices.IndexFunc(namings, func(n naming) bool { return n.program == name })
	if at >= 0 {
		n := namings[at]
		operands := cmd.Operands()
		if w, ok := cmd.Value(n.flags...); ok && (n.verbs == nil || slices.ContainsFunc(operands, func(w shell.Word) bool {
			return slices.Contains(n.verbs, w.Text)
		})) {
			words = append(words, w)
		}
	}
	if f, ok := fileOperands[name]; ok {
		operands := cmd.Operands()
		if f.verbs != nil && (len(operands) == 0 || !slices.Contains(f.verbs, operands[0].Text)) {
			operands = nil
		}
		for _, w := range operands {
			if slices.Contains(f.ends, path.Ext(w.Text)) {
				words = append(words, w)
			}
		}
	}
	for _, w := range words {
		full := path.Join(folder, w.Text)
		if !w.Literal || !onlyPath.MatchString(w.Text) || devcontainer.LeavesTree(full) || !absent(v, full) {
			continue
		}
		hint := "it is looked for from the folder that is opened"
		if best := nearest(path.Base(full), v.Tree.List(path.Dir(full))); best != "" {
			hint = fmt.Sprintf("did you mean %q?", path.Join(path.Dir(w.Text), best))
		}
		return rule.Finding{Severity: diag.SeverityWarning, Message: fmt.Sprintf("there is no %s", path.Clean(w.Text)), Hint: hint}
	}
	return rule.Finding{}
}

// absent reports whether the project has no such entry, nor the folders that it would be in. One that git does not hold is mostly made
// by a build.
func absent(v *rule.View, full string) bool {
	for v.Tree.Kind(path.Dir(full)) == devcontainer.Nothing && path.Dir(full) != "." && path.Dir(full) != full {
		full = path.Dir(full)
	}
	return isMissing(v, full)
}

// part is a list of names in a file of the project, of which a command names one.
type part struct {
	line  *lazyregexp.Regexp // of the command; its first group is the name
	file  []string           // of which the first that is there counts
	what  string
	names func(text, file string) (names []string, known bool)
}

var parts = []part{
	{lazyregexp.New(`^poetry install .*?(?:--with|--only)[ =]([\w,.-]+)`), []string{"pyproject.toml"}, "group", poetryGroups},
	{lazyregexp.New(`^uv sync .*?--(?:only-)?group[ =]([\w.-]+)`), []string{"pyproject.toml"}, "group", tables("[dependency-groups]")},
	{lazyregexp.New(`^uv sync .*?--extra[ =]([\w.-]+)`), []string{"pyproject.toml"}, "extra", tables("[project.optional-dependencies]")},
	{lazyregexp.New(`^composer (?:run|run-script) ([\w:.-]+)`), []string{"composer.json"}, "script", composerScripts},
	{lazyregexp.New(`^just ([\w-]+)$`), []string{"justfile", "Justfile", ".justfile"}, "recipe", linesWith(justRecipe, "import", "mod ")},
	{lazyregexp.New(`^deno task ([\w:.-]+)`), []string{"deno.json", "deno.jsonc"}, "task", denoTasks},
}

// partMissing reports a name that a command gives, and that the file which lists them does not have.
func partMissing(v *rule.View, folder string, cmd *shell.Command) rule.Finding {
	if !cmd.Is("poetry", "uv", "composer", "just", "deno") {
		return rule.Finding{}
	}
	line := joinedWords(cmd)
	for _, p := range parts {
		m := p.line.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for _, file := range p.file {
			names := rule.Once(v, "names of a "+p.what+" in "+path.Join(folder, file), func(v *rule.View) []string {
				text := textIn(v, folder, file)
				names, known := p.names(text, file)
				if text == "" || !known {
					return nil
				}
				return append(names, "")
			})
			if names == nil {
				continue
			}
			for name := range strings.SplitSeq(m[1], ",") {
				if slices.Contains(names, name) {
					continue
				}
				names = names[:len(names)-1]
				hint := fmt.Sprintf("%s has none", file)
				if best := nearest(name, names); best != "" {
					hint = fmt.Sprintf("did you mean %q?", best)
				} else if len(names) > 0 {
					hint = "it has " + strings.Join(names[:min(len(names), 8)], ", ")
				}
				return rule.Finding{Severity: diag.SeverityWarning, Message: fmt.Sprintf("%s has no %s %q", file, p.what, name), Hint: hint}
			}
			break
		}
	}
	return rule.Finding{}
}

var (
	tomlKey     = lazyregexp.New(`^\s*["']?([\w.-]+)["']?\s*=`)
	poetryGroup = lazyregexp.New(`(?m)^\s*\[tool\.poetry\.group\.["']?([\w.-]+?)["']?[.\]]`)
	justRecipe  = lazyregexp.New(`(?m)^(?:alias )?@?([A-Za-z_][\w-]*)[^:=\n]*:(?:[^=]|$)|^alias ([\w-]+)`)
)

// tables returns the keys of a table of TOML.
func tables(header string) func(text, file string) ([]string, bool) {
	return func(text, _ string) (names []string, known bool) {
		in := false
		for line := range strings.Lines(text) {
			switch trimmed := strings.TrimSpace(line); {
			case strings.HasPrefix(trimmed, "["):
				in = in && !strings.Contains(trimmed, "=") && strings.HasPrefix(line, " ") || strings.HasPrefix(trimmed, header)
			case in:
				if m := tomlKey.FindStringSubmatch(line); m != nil {
					names = append(names, m[1])
				}
			}
		}
		return names, !strings.Contains(text, `"optional-dependencies"`) // a build's own program says them
	}
}

func poetryGroups(text, file string) (names []string, known bool) {
	names, _ = tables("[dependency-groups]")(text, file)
	for _, m := range poetryGroup.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	if strings.Contains(text, "[tool.poetry.dev-dependencies]") {
		names = append(names, "dev")
	}
	return append(names, "main"), true
}

func composerScripts(text, _ string) (names []string, known bool) {
	var of struct{ Scripts map[string]any }
	if json.Unmarshal([]byte(text), &of) != nil {
		return nil, false
	}
	for name := range of.Scripts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, true
}

func denoTasks(text, file string) (names []string, known bool) {
	doc := devcontainer.Parse(file, []byte(text)).Object()
	if doc == nil {
		return nil, false
	}
	for _, m := range doc.Member("tasks").Fields() {
		names = append(names, m.Name)
	}
	return names, doc.Member("workspace") == nil
}

// linesWith returns what a pattern matches; others are words with which a file may take names from another one.
func linesWith(form *lazyregexp.Regexp, others ...string) func(text, file string) ([]string, bool) {
	return func(text, _ string) (names []string, known bool) {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1]+m[len(m)-1])
		}
		return names, !slices.ContainsFunc(others, func(w string) bool { return strings.Contains(text, w) })
	}
}
