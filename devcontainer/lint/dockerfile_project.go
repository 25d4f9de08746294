package lint

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// projectPrograms are programs that read files of a project, each with what says which one is missing.
var projectPrograms map[string]func(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding

func init() { // the table and its functions refer to each other
	projectPrograms = map[string]func(*broughtFiles, *shell.Command, string) rule.Finding{
		"pip": pipReads, "pip3": pipReads, "poetry": poetryReads, "uv": uvReads, "npm": npmReads, "pnpm": npmReads, "yarn": npmReads,
		"npx": npxReads, "bundle": namedReads, "composer": namedReads, "go": goReads, "cargo": namedReads, "mix": namedReads,
		"pipenv": namedReads,
		"mvn":    namedReads, "dotnet": dotnetReads, "conda": condaReads, "mamba": condaReads, "micromamba": condaReads, "make": makeReads,
		"mvnw": wrapperReads, "gradlew": wrapperReads, "cp": copyReads, "chmod": copyReads,
	}
	for _, name := range readers {
		projectPrograms[name] = scriptReads
	}
}

// notBrought is the finding about a file that is not there, at a word; its message is "" when it may be there.
func (b *broughtFiles) notBrought(at shell.Word, folder string, names ...string) rule.Finding {
	if !b.missing(folder, names...) {
		return rule.Finding{}
	}
	return b.v.AtWord(at, fmt.Sprintf("%s is not there yet: no COPY above brings it", b.place(names[0], folder)),
		"copy the file in a step above")
}

// warned lowers a finding.
func warned(f rule.Finding) rule.Finding {
	f.Severity = diag.SeverityWarning
	return f
}

func scriptReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	args := cmd.Args()
	if len(args) == 0 || !args[0].Literal || strings.HasPrefix(args[0].Text, "-") || !scriptFile.MatchString(args[0].Text) &&
		!strings.HasSuffix(args[0].Text, ".sh") {
		return rule.Finding{}
	}
	return b.notBrought(args[0], folder, args[0].Text)
}

// namedReads is about commands whose words say which file they read.
func namedReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	if hasFlag(cmd, inAnother...) {
		return rule.Finding{}
	}
	line := joinedWords(cmd)
	for _, w := range wants {
		if (line == w.words || strings.HasPrefix(line, w.words+" ")) && (w.flag == "" || hasFlag(cmd, w.flag)) {
			return b.notBrought(cmd.Words[0], folder, w.files...)
		}
	}
	return rule.Finding{}
}

// goNumber matches the version in the tag of an image of Go, and in a go.mod.
var goNumber = lazyregexp.New(`(?m)(?:^go |:)1\.(\d+)`)

// goReads is also about the version that go.mod asks for: an image of Go fetches no other (its GOTOOLCHAIN is local).
func goReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	words := cmd.Operands()
	from, _ := b.find(path.Join(folder, "go.mod"))
	module := len(words) > 0 && slices.Contains([]string{"mod", "build", "install", "test", "generate", "vet", "run"}, words[0].Text)
	has := goNumber.FindStringSubmatch(b.image)
	if from == "" || has == nil || !module || !strings.HasPrefix(b.image, "golang:") || b.variables["GOTOOLCHAIN"] != "" {
		return namedReads(b, cmd, folder)
	}
	src := b.read(from)
	asks := goNumber.FindSubmatch(src)
	if asks == nil {
		return rule.Finding{}
	}
	minor, _ := strconv.Atoi(has[1])
	wanted, _ := strconv.Atoi(string(asks[1]))
	if minor >= wanted || minor < 21 && wanted < 21 {
		return rule.Finding{}
	}
	return warned(b.v.AtCommand(cmd, fmt.Sprintf("go.mod asks for Go 1.%d, and %s has 1.%d", wanted, b.image, minor),
		fmt.Sprintf("take golang:1.%d, or write ENV GOTOOLCHAIN=auto above", wanted)))
}

func shownCommand(cmd *shell.Command) string {
	if words := cmd.Operands(); len(words) > 0 {
		return cmd.Name() + " " + words[0].Text
	}
	return cmd.Name()
}

func dotnetReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	words := cmd.Operands()
	if len(words) != 1 || !slices.Contains([]string{"restore", "build", "publish"}, words[0].Text) || len(cmd.Args()) > 1 {
		return rule.Finding{}
	}
	if !b.missing(folder, "*.csproj", "*.fsproj", "*.vbproj", "*.sln", "*.slnx", "*.slnf", "*.proj") {
		return rule.Finding{}
	}
	return warned(b.v.AtCommand(cmd, fmt.Sprintf("%s has no project and no solution yet: no COPY above brings one there", folder),
		"put the COPY of the project above this step"))
}

func makeReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	if hasFlag(cmd, "-C", "-f", "--directory", "--file") || slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool { return !w.Literal }) {
		return rule.Finding{}
	}
	return b.notBrought(cmd.Words[0], folder, "Makefile", "makefile", "GNUmakefile")
}

// wrapperReads is about the scripts that projects of Java have of Maven and Gradle, and the files that these read.
func wrapperReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	at := path.Dir(b.place(cmd.Words[0].Text, folder))
	name := map[string]string{"mvnw": ".mvn/wrapper/maven-wrapper.properties", "gradlew": "gradle/wrapper/gradle-wrapper.jar"}[cmd.Name()]
	from, _ := b.find(path.Join(at, cmd.Name()))
	if from == "" {
		return b.notBrought(cmd.Words[0], at, cmd.Name())
	}
	if b.v.Tree.Kind(path.Join(path.Dir(from), name)) == devcontainer.Nothing || !b.missing(at, name) {
		return rule.Finding{}
	}
	return warned(b.v.AtCommand(cmd, fmt.Sprintf("%s reads %s, and no COPY above brings it", cmd.Words[0].Text, b.place(name, at)),
		fmt.Sprintf("bring the folder %s, too", strings.Split(name, "/")[0])))
}

// copyReads is about files that a step takes from where only a COPY could have put them.
func copyReads(b *broughtFiles, cmd *shell.Command, folder string) rule.Finding {
	words := cmd.Operands()
	if cmd.Is("chmod") && len(words) > 1 {
		words = words[1:]
	} else if len(words) > 1 {
		words = words[:len(words)-1]
	}
	if hasFlag(cmd, "-t", "-T", "--reference") {
		return rule.Finding{}
	}
	if cmd.Is("cp") && !hasFlag(cmd, "-r", "-R", "-a", "--recursive", "--archive") && len(words) == 1 && words[0].Literal {
		from, _ := b.find(b.place(words[0].Text, folder))
		if from != "" && b.v.Tree.Kind(from) == devcontainer.Folder {
			return b.v.AtWord(words[0], fmt.Sprintf("%s is a folder, which cp leaves out without -r", words[0].Text), "write cp -r")
		}
	}
	for _, w := range words {
		ofProject := !path.IsAbs(w.Text) || folder != "/" && within(path.Clean(w.Text), folder) || path.Dir(path.Clean(w.Text)) == "/"
		if !w.Literal || !ofProject || !strings.Contains(path.Base(w.Text), ".") || strings.HasPrefix(path.Base(w.Text), ".") {
			continue
		}
		if f := b.notBrought(w, folder, w.Text); f.Message != "" {
			return f
		}
	}
	return rule.Finding{}
}
