package lint

import (
	"fmt"
	"path"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// ofProject are the files that make a folder a project of Python's.
var ofProject = []string{"pyproject.toml", "setup.py", "setup.cfg"}

func pipReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	words := cmd.Operands()
	if len(words) == 0 || words[0].Text != "install" {
		return rule.Finding{}
	}
	if list, ok := cmd.Value("-r", "--requirement"); ok && list.Literal && !strings.Contains(list.Text, "://") {
		if f := b.notBrought(list, folder, list.Text); f.Message != "" {
			return f
		}
		return b.listReads(list, folder)
	}
	return b.installsProject(words[1:], cmd, folder)
}

// listReads is about what a list of packages names: other lists, from its own folder, and projects, from that of the step.
func (b *broughtFiles) listReads(list shell.Word, folder string) rule.Finding {
	from, _ := b.find(b.place(list.Text, folder))
	if from == "" {
		return rule.Finding{}
	}
	src := b.read(from)
	for _, m := range otherList.FindAllSubmatch(src, -1) {
		at := path.Dir(b.place(list.Text, folder))
		if name := string(m[1]); !path.IsAbs(name) && b.missing(at, name) {
			return b.v.AtWord(list, fmt.Sprintf("%s names %s, and no COPY brings %s", list.Text, name, b.place(name, at)),
				"bring both files, into the same folders as in the project")
		}
	}
	for _, m := range itself.FindAllSubmatch(src, -1) {
		if at := b.place(string(m[1]), folder); b.missing(at, ofProject...) {
			return b.v.AtWord(list, fmt.Sprintf("%s installs the project in %s, and no COPY brings it there", list.Text, at),
				"put the COPY of the project above this step, or take the line out of the list")
		}
	}
	return rule.Finding{}
}

// folderOfProject matches operands of pip that are folders.
var folderOfProject = lazyregexp.New(`^\.{1,2}(/[\w-]+)*/?$`)

// installsProject is about the operands of pip install and uv pip install that are folders.
func (b *broughtFiles) installsProject(words []shell.Word, cmd *shell.Command, folder string) rule.Finding {
	for _, w := range words {
		name, _, _ := strings.Cut(w.Text, "[")
		if !w.Literal || !folderOfProject.MatchString(name) {
			continue
		}
		at := b.place(name, folder)
		if b.missing(at, ofProject...) {
			return b.v.AtWord(cmd.Words[0], fmt.Sprintf("%s has no project yet: no COPY above brings pyproject.toml or setup.py there", at),
				"put the COPY of the project above this step")
		}
		return b.partsOfProject(cmd, at)
	}
	return rule.Finding{}
}

// partsOfProject is about the files that a project's own build wants, where it wants them for sure: the readme, and the sources.
func (b *broughtFiles) partsOfProject(cmd *shell.Command, folder string) rule.Finding {
	from, _ := b.find(path.Join(folder, "pyproject.toml"))
	if from == "" {
		return rule.Finding{}
	}
	src := b.read(from)
	if !strictly.Match(src) {
		return rule.Finding{}
	}
	of := path.Dir(from)
	lost := func(name string) bool {
		return b.missing(folder, name) && b.v.Tree.Kind(path.Join(of, name)) != devcontainer.Nothing
	}
	if m := readmeOf.FindSubmatch(src); m != nil && lost(string(m[1])) {
		return warned(b.v.AtCommand(cmd, fmt.Sprintf("%s installs the project, whose pyproject.toml names %s, and no COPY above brings that",
			shownCommand(cmd), m[1]), b.hintParts(cmd)))
	}
	m := nameOf.FindSubmatch(src)
	if m == nil || packageOf.Match(src) {
		return rule.Finding{}
	}
	name := strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToLower(string(m[1])))
	for _, sources := range []string{name, "src/" + name, name + ".py"} {
		if lost(sources) && b.missing(folder, name, "src/"+name, name+".py") {
			return warned(b.v.AtCommand(cmd, fmt.Sprintf("%s installs the project, and no COPY above brings its sources %s", shownCommand(cmd),
				sources), b.hintParts(cmd)))
		}
	}
	return rule.Finding{}
}

func (b *broughtFiles) hintParts(cmd *shell.Command) string {
	switch {
	case cmd.Is("poetry"):
		return "add --no-root, which installs only the dependencies"
	case cmd.Is("uv") && len(cmd.Operands()) > 0 && cmd.Operands()[0].Text == "sync":
		return "add --no-install-project, which installs only the dependencies"
	}
	return "put the COPY of the project above this step"
}

func poetryReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	words := cmd.Operands()
	if len(words) == 0 || words[0].Text != "install" || hasFlag(cmd, "-C", "--directory", "--project") {
		return rule.Finding{}
	}
	if f := b.notBrought(cmd.Words[0], folder, "pyproject.toml"); f.Message != "" || hasFlag(cmd, "--no-root", "--no-directory") {
		return f
	}
	return b.partsOfProject(cmd, folder)
}

func uvReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	words := cmd.Operands()
	if len(words) == 0 || hasFlag(cmd, "--project", "--directory", "--package") {
		return rule.Finding{}
	}
	if len(words) > 2 && words[0].Text == "pip" && words[1].Text == "install" {
		return b.installsProject(words[2:], cmd, folder)
	}
	if words[0].Text != "sync" {
		return rule.Finding{}
	}
	if f := b.notBrought(cmd.Words[0], folder, "pyproject.toml"); f.Message != "" {
		return f
	}
	if hasFlag(cmd, "--frozen", "--locked") && b.missing(folder, "uv.lock") {
		return warned(b.v.AtCommand(cmd, "uv sync takes no other versions than those of uv.lock, and no COPY above brings that",
			"bring it, too"))
	}
	if hasFlag(cmd, "--no-install-project", "--no-install-workspace") || b.variables["UV_NO_INSTALL_PROJECT"] != "" {
		return rule.Finding{}
	}
	return b.partsOfProject(cmd, folder)
}

func condaReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	list, ok := cmd.Value("-f", "--file")
	if !ok || !list.Literal || strings.Contains(list.Text, "://") {
		return rule.Finding{}
	}
	b.bare = b.bare || folder != "/" && !path.IsAbs(list.Text) // the image has no such file in a folder of the project's
	return warned(b.notBrought(list, folder, list.Text))
}

var (
	// otherList matches a line of a list of packages for pip that names another one.
	otherList = lazyregexp.New(`(?m)^\s*(?:-r|-c|--requirement|--constraint)[ \t=]*([\w./-]+)`)
	// itself matches a line that names a folder of the project.
	itself = lazyregexp.New(`(?m)^\s*(?:(?:-e|--editable)[ \t=]*)?(?:file:)?(\.{1,2}(?:/[\w./-]*)?)(?:\[[\w,-]+\])?\s*(?:#.*)?$`)
)

var (
	readmeOf  = lazyregexp.New(`(?m)^readme\s*=\s*(?:\{\s*file\s*=\s*)?["']([^"']+)["']`)
	nameOf    = lazyregexp.New(`(?m)^name\s*=\s*["']([^"']+)["']`)
	strictly  = lazyregexp.New(`build-backend\s*=\s*["'](hatchling|poetry|flit_core)`)
	packageOf = lazyregexp.New(`(?m)^\[tool\.(hatch\.build|poetry\.packages|flit\.module)|^(packages|package-mode|include)\s*=|only-include`)
)
