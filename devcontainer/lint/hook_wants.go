package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// want is a file without which a command fails, in the folder that it runs in.
type want struct {
	words string   // that the command begins with
	flag  string   // that it has besides; "" = none
	files []string // of which one must be there
}

var wants = []want{
	{"npm ci", "", []string{"package-lock.json", "npm-shrinkwrap.json"}},
	{"pnpm install", "--frozen-lockfile", []string{"pnpm-lock.yaml"}},
	{"bundle install", "", []string{"Gemfile", "gems.rb"}},
	{"composer install", "", []string{"composer.json"}},
	{"poetry install", "", []string{"pyproject.toml"}},
	{"uv sync", "", []string{"pyproject.toml"}},
	{"pipenv install", "--deploy", []string{"Pipfile.lock"}},
	{"pipenv sync", "", []string{"Pipfile.lock"}},
	{"pip install -e .", "", []string{"pyproject.toml", "setup.py", "setup.cfg"}},
	{"pip3 install -e .", "", []string{"pyproject.toml", "setup.py", "setup.cfg"}},
	{"pip install .", "", []string{"pyproject.toml", "setup.py", "setup.cfg"}},
	{"pip3 install .", "", []string{"pyproject.toml", "setup.py", "setup.cfg"}},
	{"go mod download", "", []string{"go.mod", "go.work"}},
	{"go mod tidy", "", []string{"go.mod"}},
	{"go build ./...", "", []string{"go.mod", "go.work"}},
	{"cargo build", "", []string{"Cargo.toml"}},
	{"cargo fetch", "", []string{"Cargo.toml"}},
	{"cargo check", "", []string{"Cargo.toml"}},
	{"mix deps.get", "", []string{"mix.exs"}},
	{"mvn install", "", []string{"pom.xml"}},
	{"mvn clean install", "", []string{"pom.xml"}},
	{"docker compose up", "", []string{"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"}},
	{"docker-compose up", "", []string{"docker-compose.yml", "docker-compose.yaml", "compose.yaml", "compose.yml"}},
}

// inAnother are options that name another folder or file.
var inAnother = []string{"-C", "--prefix", "--directory", "--working-dir", "-d", "-f", "--file", "--manifest-path", "--project",
	"--gemfile", "-w",
	"--workspace", "--workspaces", "--dir", "--filter", "--if-present", "--no-manifest", "--cwd", "-F", "--package"}

// wantedFile reports a file of the folder that a command cannot do without; its message is "" when it is there.
func wantedFile(v *rule.View, folder string, cmd *shell.Command) rule.Finding {
	if _, other := cmd.Flag(inAnother...); other && !strings.HasPrefix(cmd.Name(), "docker") && !slices.ContainsFunc(cmd.Args(),
		func(w shell.Word) bool { return w.Text == "--frozen-lockfile" }) || isAttached(cmd) {
		return rule.Finding{}
	}
	line := joinedWords(cmd)
	if at := strings.Index(line, ".["); at > 0 && cmd.Is("pip", "pip3") { // extras of the project
		line = strings.ReplaceAll(line[:at+1], "--editable", "-e")
	}
	for _, w := range wants {
		if line != w.words && !strings.HasPrefix(line, w.words+" ") {
			continue
		}
		if w.flag != "" && !hasFlag(cmd, w.flag) {
			continue
		}
		if !slices.ContainsFunc(w.files, func(f string) bool { return !isMissing(v, path.Join(folder, f)) }) {
			if cmd.Is("pnpm") && dependsOnNothing(v, folder) {
				return rule.Finding{}
			}
			return rule.Finding{Message: fmt.Sprintf("%s needs %s, and %s has none", w.words, strings.Join(w.files, " or "), shownPlace(v, folder)),
				Hint: hintPlace(v, folder, w.files)}
		}
		return rule.Finding{}
	}
	return scriptOfNpm(v, folder, cmd)
}

// dependsOnNothing reports whether package.json names no package, of which pnpm needs no lock.
func dependsOnNothing(v *rule.View, folder string) bool {
	return rule.Once(v, "depends on nothing: "+folder, func(v *rule.View) bool {
		src, err := v.Tree.Read(path.Join(folder, "package.json"))
		var of manifest
		return err == nil && json.Unmarshal(src, &of) == nil && of.dependsOnNothing() && isMissing(v, path.Join(folder, "pnpm-workspace.yaml"))
	})
}

// isAttached reports whether docker compose is told which files it reads.
func isAttached(cmd *shell.Command) bool {
	_, named := cmd.Flag("-f", "--file", "--project-directory")
	return strings.HasPrefix(cmd.Name(), "docker") && named
}

func joinedWords(cmd *shell.Command) string {
	words := []string{cmd.Name()}
	for _, w := range cmd.Args() {
		words = append(words, w.Text)
	}
	return strings.Join(words, " ")
}

func shownPlace(v *rule.View, folder string) string {
	if folder == v.Home {
		return "the folder that is opened"
	}
	return strings.TrimPrefix(folder, v.Home+"/")
}

// hintPlace says where one of the files is, one folder below.
func hintPlace(v *rule.View, folder string, files []string) string {
	for _, name := range v.Tree.List(folder) {
		if strings.HasPrefix(name, ".") || name == "node_modules" || v.Tree.Kind(path.Join(folder, name)) != devcontainer.Folder {
			continue
		}
		for _, f := range files {
			if v.Tree.Kind(path.Join(folder, name, f)) == devcontainer.File {
				return fmt.Sprintf("there is one in %s: write cd %[1]s && … in front", name)
			}
		}
	}
	return "add it to the repository, or leave the command out"
}

// scriptOfNpm reports a script that package.json does not have; its message is "" when it has.
func scriptOfNpm(v *rule.View, folder string, cmd *shell.Command) rule.Finding {
	words := cmd.Operands()
	if !cmd.Is("npm", "pnpm") || len(words) < 2 || words[0].Text != "run" && words[0].Text != "run-script" || !words[1].Literal {
		return rule.Finding{}
	}
	scripts, known := npmScripts(v, folder)
	if name := words[1].Text; known && scripts[name] == "" && !strings.ContainsAny(name, "/*^") && name != "env" {
		names := rule.Once(v, "names of scripts of "+folder, func(*rule.View) []string { return slices.Sorted(maps.Keys(scripts)) })
		hint := "package.json has no scripts"
		if best := nearest(name, names); best != "" {
			hint = fmt.Sprintf("did you mean %q?", best)
		} else if len(names) > 0 {
			hint = "it has " + strings.Join(names[:min(len(names), 8)], ", ")
		}
		return rule.Finding{Message: fmt.Sprintf("package.json has no script %q", name), Hint: hint}
	}
	if isMissing(v, path.Join(folder, "package.json")) {
		return rule.Finding{Message: fmt.Sprintf("%s needs package.json, and %s has none", cmd.Name()+" run", shownPlace(v, folder)),
			Hint: hintPlace(v, folder, []string{"package.json"})}
	}
	return rule.Finding{}
}

// npmScripts reads the scripts of a folder's package.json; known is false when it cannot be read.
func npmScripts(v *rule.View, folder string) (scripts map[string]string, known bool) {
	scripts = rule.Once(v, "scripts of "+folder, func(v *rule.View) map[string]string {
		src, err := v.Tree.Read(path.Join(folder, "package.json"))
		var of struct{ Scripts map[string]string }
		if err != nil || json.Unmarshal(src, &of) != nil {
			return nil
		}
		if of.Scripts == nil {
			return map[string]string{}
		}
		return of.Scripts
	})
	return scripts, scripts != nil
}

// makefile is what is known of a Makefile.
type makefile struct {
	targets []string
	all     bool // that it has
}

func readMakefile(v *rule.View, full string) makefile {
	return rule.Once(v, "targets of "+full, func(v *rule.View) (m makefile) {
		src, err := v.Tree.Read(full)
		if m.all = err == nil && !anyTarget.Match(src); !m.all {
			return m
		}
		for _, found := range makefileTarget.FindAllSubmatch(src, -1) {
			m.targets = append(m.targets, strings.Fields(string(found[1]))...)
		}
		return m
	})
}

var (
	makefileTarget = lazyregexp.New(`(?m)^([^\t#:=\n][^#:=\n]*)::?([^=\n]|$)`)
	// anyTarget matches Makefiles that may have targets which are not written out.
	anyTarget = lazyregexp.New(`(?m)^\s*-?s?include\b|^[^\t#\n]*[%$][^\n]*:|\.DEFAULT|\$\(eval|^define\b`)
)

// targetMissingIn reports a target of make that no Makefile of the folder has; its message is "" when one may.
func targetMissingIn(v *rule.View, folder string, cmd *shell.Command) rule.Finding {
	words := cmd.Args()
	if !cmd.Is("make") || len(words) != 1 && len(words) != 0 {
		return rule.Finding{}
	}
	file := ""
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if !isMissing(v, path.Join(folder, name)) {
			file = name
			break
		}
	}
	if file == "" {
		return rule.Finding{Message: fmt.Sprintf("make needs a Makefile, and %s has none", shownPlace(v, folder)),
			Hint: hintPlace(v, folder, []string{"Makefile"})}
	}
	of := readMakefile(v, path.Join(folder, file))
	if !of.all || len(words) == 0 || !words[0].Literal || strings.ContainsAny(words[0].Text, "=-./$") {
		return rule.Finding{}
	}
	target := words[0].Text
	// make knows how to make some files of others, and is content with one that is there.
	if slices.Contains(of.targets, target) || slices.ContainsFunc(v.Tree.List(folder), func(f string) bool {
		return f == target ||
			strings.HasPrefix(f, target+".")
	}) {
		return rule.Finding{}
	}
	hint := "write the target, or leave the command out"
	if best := nearest(target, of.targets); best != "" {
		hint = fmt.Sprintf("did you mean %q?", best)
	}
	return rule.Finding{Message: fmt.Sprintf("%s has no target %q", file, target), Hint: hint}
}

// isProject reports whether there are files besides those of a dev container: a Template and an example have none, and
// their hooks are for the files of others.
func isProject(v *rule.View) bool {
	template := false
	others := 0
	for _, name := range v.Tree.List(v.Home) {
		template = template || name == devcontainer.TemplateName
		if !strings.HasPrefix(name, ".devcontainer") && !strings.HasPrefix(name, ".git") {
			others++
		}
	}
	return others > 0 && !template
}

// examples matches names of files that a project has so that people copy them.
var examples = lazyregexp.New(`(?i)(^|[._-])(example|sample|template|dist)([._-]|$)`)

// exampleMissing reports a copy of an example that is not there; its message is "" when it is.
func exampleMissing(v *rule.View, folder string, cmd *shell.Command) rule.Finding {
	words := cmd.Operands()
	if !cmd.Is("cp") || len(words) != 2 || !words[0].Literal || hasFlag(cmd, "-r", "-R", "-a", "-t") {
		return rule.Finding{}
	}
	name := words[0].Text
	full := path.Join(folder, name)
	if to := words[1]; to.Literal && v.Tree.Kind(full) == devcontainer.File {
		return copiedNowhere(v, folder, to.Text)
	}
	if path.IsAbs(name) || strings.ContainsAny(name, "*?[{~$") || !examples.MatchString(path.Base(name)) || devcontainer.LeavesTree(full) ||
		!isMissing(v, full) {
		return rule.Finding{}
	}
	hint := "add it, or leave the command out"
	if best := nearest(path.Base(name), v.Tree.List(path.Dir(full))); best != "" {
		hint = fmt.Sprintf("did you mean %q?", path.Join(path.Dir(name), best))
	}
	return rule.Finding{Message: fmt.Sprintf("there is no file %s to copy", name), Hint: hint}
}

// copiedNowhere reports a file that is copied into a folder that is not there, but one with nearly its name is.
func copiedNowhere(v *rule.View, folder, to string) rule.Finding {
	top, _, below := strings.Cut(path.Clean(to), "/")
	full := path.Join(folder, top)
	if !below || path.IsAbs(to) || strings.ContainsAny(to, "*?[{~$") || devcontainer.LeavesTree(full) || !isMissing(v, full) {
		return rule.Finding{}
	}
	best := nearest(top, v.Tree.List(folder))
	if best == "" || v.Tree.Kind(path.Join(folder, best)) != devcontainer.Folder {
		return rule.Finding{}
	}
	return rule.Finding{Message: fmt.Sprintf("there is no folder %s to copy into", top), Hint: fmt.Sprintf("did you mean %q?", best)}
}

func hasFlag(cmd *shell.Command, flags ...string) bool {
	_, has := cmd.Flag(flags...)
	return has
}
