package detect

import (
	"path"
	"slices"

	"github.com/org/claude-sandbox/firewall"
)

// language is what a project may be written in.
type language struct {
	name     string
	template string   // made for it; "" = none
	presets  []string // its package ecosystem; the first that exists counts
	packages string   // Debian's packages with its tools, as the option extraPackages takes them; "" = Debian has none
	markers  []string // files that say so, the clearest first
}

// languages in the order in which one of several in the project's own folder
// decides about the template: package.json is often only there for tools.
var languages = []language{
	{"Go", "claude-go", []string{"go"}, "golang", []string{"go.mod", "go.work"}},
	{"Python", "claude-python", []string{"pypi"}, "python3-venv",
		[]string{"pyproject.toml", "uv.lock", "poetry.lock", "requirements.txt", "Pipfile", "setup.py"}},
	{"Node", "claude-node", []string{"npm"}, "nodejs,npm",
		[]string{"package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"}},
	{"Rust", "", []string{"rust"}, "cargo", []string{"Cargo.toml"}},
	{"Ruby", "", []string{"rubygems", "ruby"}, "ruby,bundler", []string{"Gemfile"}},
	{"Java", "", []string{"maven", "java"}, "default-jdk-headless,maven", []string{"pom.xml", "build.gradle", "build.gradle.kts"}},
	{"PHP", "", []string{"packagist", "composer", "php"}, "composer", []string{"composer.json"}},
	{".NET", "", []string{"nuget", "dotnet"}, "", []string{"global.json", "Directory.Build.props", "nuget.config"}},
	{"Elixir", "", []string{"hex", "elixir"}, "elixir", []string{"mix.exs"}},
	{"Dart", "", []string{"dart", "pub"}, "", []string{"pubspec.yaml"}},
}

// stack proposes a template for the language of the project's own folder, and
// the preset of each language's packages.
func (l *look) stack() {
	for _, lang := range languages {
		file := l.marker(lang)
		if file == "" {
			continue
		}
		preset := existing(lang.presets)
		if preset == "" {
			l.note(file, 0, "%s is used here, and no preset covers its packages; name its hosts with --allow", lang.name)
		} else {
			add(&l.report.Presets, Proposal{Value: preset, Reason: "packages of " + lang.name, File: file})
		}
		if l.report.Template.Value == "" && lang.template != "" && path.Dir(file) == "." {
			l.report.Template = Proposal{Value: lang.template, Reason: "the project is written in " + lang.name, File: file}
		}
		l.report.Languages = append(l.report.Languages,
			Language{Name: lang.name, File: file, Template: lang.template, Packages: lang.packages})
	}
}

// marker returns the first file that says that the language is used, looking
// in the project's own folder first.
func (l *look) marker(lang language) (found string) {
	for _, folder := range l.tree.folders {
		for _, name := range lang.markers {
			if file := path.Join(folder, name); l.tree.has(file) {
				return file
			}
		}
	}
	return ""
}

// existing returns the first of the names that is a preset.
func existing(names []string) string {
	known := firewall.PresetNames()
	for _, name := range names {
		if slices.Contains(known, name) {
			return name
		}
	}
	return ""
}
