package detect

import (
	"cmp"
	"strings"
)

// language is what a project may be written in.
type language struct {
	name     string
	template string     // made for it; "" = none
	presets  [][]string // its package ecosystem; of each group the first that exists counts
	tool     string     // of templates.AddTools, for a project in two languages; "" = its image must be the base
	packages string     // Debian's with its tools, for a language without a template; "" = Debian has none
	markers  []string   // files that say that it is used, the clearest first; "*.x" = any that ends so
	sources  []string   // how names of its source files end

	option   string                             // of the template, for the image of a version
	image    func(l *look, value string) string // the image of a version; "" = the usual one
	always   bool                               // the image depends on more than the version
	versions []versionFile                      // where its version is stated, the most binding first
}

// toolImage is the image that tools of a version are copied from.
func (lang language) toolImage(value string) string {
	if lang.name == "Java" {
		return "eclipse-temurin:" + value + "-jdk"
	}
	return lang.image(nil, value)
}

// tagged returns an image function: NAME:VERSION with what stands around it.
func tagged(before, after, usual string) func(*look, string) string {
	return func(_ *look, value string) string {
		value = cmp.Or(value, usual)
		return before + value + after
	}
}

// javaImage prefers Maven's image to Gradle's where the project has both: a
// gradlew fetches its own Gradle.
func javaImage(l *look, value string) string {
	value = cmp.Or(value, "21")
	if l != nil && l.marker([]string{"pom.xml"}) == "" && l.marker([]string{"build.gradle", "build.gradle.kts"}) != "" {
		return "gradle:8-jdk" + value
	}
	return "maven:3.9-eclipse-temurin-" + value
}

// nodeImage takes an older Debian for versions that have no newer one.
func nodeImage(_ *look, value string) string {
	value = cmp.Or(value, "22")
	switch major, _, _ := strings.Cut(value, "."); major {
	case "12", "14":
		return "node:" + value + "-bullseye-slim"
	}
	return "node:" + value + "-bookworm-slim"
}

// languages in the order in which one of several that weigh the same decides about
// the template: package.json is often only there for tools.
var languages = []language{
	{name: "Go", template: "claude-go", presets: [][]string{{"go"}}, tool: "go",
		markers: []string{"go.mod", "go.work"}, sources: []string{".go"},
		option: "goImage", image: tagged("golang:", "-bookworm", "1.26"), versions: goVersions},
	{name: "Python", template: "claude-python", presets: [][]string{{"pypi"}}, tool: "python",
		markers: []string{"pyproject.toml", "uv.lock", "poetry.lock", "requirements.txt", "Pipfile", "setup.py"},
		sources: []string{".py", ".pyx"},
		option:  "baseImage", image: tagged("python:", "-slim-bookworm", "3.13"), versions: pythonVersions},
	{name: "Rust", template: "claude-rust", presets: [][]string{{"rust"}}, tool: "rust",
		markers: []string{"Cargo.toml"}, sources: []string{".rs"},
		option: "baseImage", image: tagged("rust:", "-bookworm", "1"), versions: rustVersions},
	{name: "Java", template: "claude-java", presets: [][]string{{"maven", "java"}}, tool: "java",
		markers: []string{"pom.xml", "build.gradle", "build.gradle.kts"}, sources: []string{".java", ".kt", ".kts", ".scala", ".groovy"},
		option: "baseImage", image: javaImage, always: true, versions: javaVersions},
	{name: "Ruby", template: "claude-ruby", presets: [][]string{{"rubygems", "ruby"}},
		markers: []string{"Gemfile", "*.gemspec"}, sources: []string{".rb", ".erb", ".rake"},
		option: "baseImage", image: tagged("ruby:", "-bookworm", "3.4"), versions: rubyVersions},
	{name: "PHP", template: "claude-php", presets: [][]string{{"packagist", "composer", "php"}},
		markers: []string{"composer.json"}, sources: []string{".php"},
		option: "baseImage", image: tagged("php:", "-cli-bookworm", "8.4"), versions: phpVersions},
	{name: ".NET", template: "claude-dotnet", presets: [][]string{{"nuget", "dotnet"}},
		markers: []string{"global.json", "Directory.Build.props", "nuget.config", "NuGet.Config", "NuGet.config", "*.sln",
			"*.slnx", "*.csproj", "*.fsproj"},
		sources: []string{".cs", ".fs", ".vb", ".razor"},
		option:  "baseImage", image: tagged("mcr.microsoft.com/dotnet/sdk:", "", "9.0"), versions: dotnetVersions},
	{name: "Node", template: "claude-node", presets: [][]string{{"npm"}}, tool: "node",
		markers: []string{"package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"},
		sources: []string{".js", ".ts", ".tsx", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte"},
		option:  "baseImage", image: nodeImage, versions: nodeVersions},
	{name: "Elixir", presets: [][]string{{"hex", "elixir"}}, packages: "elixir",
		markers: []string{"mix.exs"}, sources: []string{".ex", ".exs"}, image: tagged("", "", "")},
	{name: "Dart", presets: [][]string{{"dart", "pub"}},
		markers: []string{"pubspec.yaml"}, sources: []string{".dart"}, image: tagged("", "", "")},
}

// sourceEnds are how names of source files end.
var sourceEnds = func() map[string]bool {
	ends := map[string]bool{}
	for _, lang := range languages {
		for _, end := range lang.sources {
			ends[end] = true
		}
	}
	return ends
}()

// sourceFiles are the language's source files, as markers.
func (lang language) sourceFiles() (names []string) {
	for _, end := range lang.sources {
		names = append(names, "*"+end)
	}
	return names
}

// knownNames are the files that something is read from, or that say something by
// being there.
func knownNames() []string {
	names := []string{"gradlew"}
	for _, lang := range languages {
		names = append(names, lang.markers...)
		names = append(names, lang.sourceFiles()...)
	}
	for _, s := range sources {
		names = append(names, s.name)
	}
	return names
}
