package detect

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// versionFile is a file that states the version of a language.
type versionFile struct {
	name  string             // "*.x" = any file that ends so; the highest of their versions counts
	value *lazyregexp.Regexp // its first group is the version or a range
	// choose makes the version of an image's tag of that; "" = it says nothing.
	choose func(value string) string
}

// asStated takes a plain version as it is, and of a range the first candidate in it.
func asStated(parts int, candidates ...string) func(string) string {
	return func(value string) string {
		value = strings.TrimSpace(value)
		if m := plainVersion.FindStringSubmatch(value); m != nil {
			numbers := strings.Split(m[1], ".")
			return strings.Join(numbers[:min(parts, len(numbers))], ".")
		}
		for _, c := range candidates {
			if rangeText.MatchString(value) && inRange(value, c) {
				return c
			}
		}
		return ""
	}
}

var (
	plainVersion = lazyregexp.New(`^[vV=]*(?:go|ruby-|python-|cpython-|nodejs-|rust-)?(\d+(?:\.\d+){0,2})$`)
	rangeText    = lazyregexp.New(`^[\d.xX*\s<>=!~^|,vV-]+$`)
)

// nodeNames are the code names of Node's long-term versions, as nvm takes them.
var nodeNames = map[string]string{"hydrogen": "18", "iron": "20", "jod": "22", "krypton": "24"}

func chooseNode(value string) string {
	if name, ok := strings.CutPrefix(strings.ToLower(value), "lts/"); ok {
		return nodeNames[name]
	}
	return nodeRange(value)
}

var (
	nodeRange   = asStated(3, "22", "24", "20", "18", "26", "16", "14", "12")
	pythonRange = asStated(2, "3.13", "3.12", "3.14", "3.11", "3.10", "3.9", "3.8", "2.7")
	phpRange    = asStated(2, "8.4", "8.3", "8.2", "8.1", "8.5", "8.0", "7.4")
	rubyRange   = asStated(3, "3.4", "3.3", "3.2", "3.1", "4.0", "3.0", "2.7")
)

// chooseGo takes the minor version: its newest patch satisfies go.mod. Before 1.21 a
// newer Go builds the same, and there are no images.
func chooseGo(value string) string {
	v := asStated(2)(value)
	if inRange("<1.21", v) {
		return ""
	}
	return v
}

// chooseJava takes the next version with long-term support.
func chooseJava(value string) string {
	n, err := strconv.Atoi(strings.TrimPrefix(value, "1."))
	if err != nil {
		return ""
	}
	for _, lts := range []int{8, 11, 17, 21, 25} {
		if n <= lts {
			return strconv.Itoa(lts)
		}
	}
	return ""
}

// chooseDotnet takes major.minor, which are the tags of the images.
func chooseDotnet(value string) string {
	if v := asStated(2)(value); strings.Contains(v, ".") {
		return v
	}
	return ""
}

var framework = lazyregexp.New(`\bnet(\d+\.\d+)`)

// highestFramework takes the newest of several targets: its SDK builds for the older ones.
func highestFramework(value string) (highest string) {
	for _, m := range framework.FindAllStringSubmatch(value, -1) {
		highest = higher(highest, m[1])
	}
	return highest
}

func higher(a, b string) string {
	if slices.Compare(numbers(a), numbers(b)) < 0 {
		return b
	}
	return a
}

// toolVersions is asdf's file, which mise reads as well.
func toolVersions(name string, choose func(string) string) versionFile {
	return versionFile{".tool-versions", lazyregexp.New(`(?m)^` + name + `[ \t]+(?:temurin-|openjdk-|adoptopenjdk-)?([\d.]+)`), choose}
}

func packageManager(name string) versionFile {
	return versionFile{"package.json", lazyregexp.New(`"packageManager"\s*:\s*"` + name + `@(\d+(?:\.\d+){0,2})`), asStated(3)}
}

var firstLine = lazyregexp.New(`(?m)^[ \t]*([^\s#]+)[ \t\r]*$`)

var (
	nodeVersions = []versionFile{
		{".nvmrc", firstLine, chooseNode}, {".node-version", firstLine, chooseNode}, toolVersions("nodejs", nodeRange),
		{"package.json", lazyregexp.New(`"volta"\s*:\s*\{[^{}]*"node"\s*:\s*"([^"]+)"`), nodeRange},
		{"package.json", lazyregexp.New(`"engines"\s*:\s*\{[^{}]*"node"\s*:\s*"([^"]+)"`), nodeRange},
	}
	pythonVersions = []versionFile{
		{".python-version", firstLine, pythonRange}, toolVersions("python", pythonRange),
		{"runtime.txt", lazyregexp.New(`(?m)^(python-[\d.]+)`), pythonRange},
		{"pyproject.toml", lazyregexp.New(`(?m)^\s*requires-python\s*=\s*["']([^"']+)["']`), pythonRange},
		{"pyproject.toml", lazyregexp.New(`(?m)^\s*python\s*=\s*["']([^"']+)["']`), pythonRange},
		{"Pipfile", lazyregexp.New(`(?m)^\s*python_(?:full_)?version\s*=\s*["']([^"']+)["']`), pythonRange},
		{"setup.py", lazyregexp.New(`\bpython_requires\s*=\s*["']([^"']+)["']`), pythonRange},
	}
	goVersions = []versionFile{
		{"go.work", lazyregexp.New(`(?m)^toolchain[ \t]+go(\S+)`), chooseGo},
		{"go.mod", lazyregexp.New(`(?m)^toolchain[ \t]+go(\S+)`), chooseGo},
		{"go.work", lazyregexp.New(`(?m)^go[ \t]+(\S+)`), chooseGo}, {"go.mod", lazyregexp.New(`(?m)^go[ \t]+(\S+)`), chooseGo},
		toolVersions("golang", chooseGo),
	}
	rustVersions = []versionFile{
		{"rust-toolchain.toml", lazyregexp.New(`(?m)^\s*channel\s*=\s*["']([^"']+)["']`), asStated(3)},
		{"rust-toolchain", lazyregexp.New(`(?m)^\s*channel\s*=\s*["']([^"']+)["']`), asStated(3)},
		{"rust-toolchain", firstLine, asStated(3)}, toolVersions("rust", asStated(3)),
	}
	rubyVersions = []versionFile{
		{".ruby-version", firstLine, rubyRange}, toolVersions("ruby", rubyRange),
		{"Gemfile", lazyregexp.New(`(?m)^\s*ruby\s*\(?\s*["']([^"']+)["']`), rubyRange},
	}
	phpVersions = []versionFile{
		{"composer.json", lazyregexp.New(`"platform"\s*:\s*\{[^{}]*"php"\s*:\s*"([^"]+)"`), phpRange}, toolVersions("php", phpRange),
		{".php-version", firstLine, phpRange},
		{"composer.json", lazyregexp.New(`"require"\s*:\s*\{[^{}]*"php"\s*:\s*"([^"]+)"`), phpRange},
	}
	javaVersions = []versionFile{
		{".java-version", lazyregexp.New(`(?m)^\D*(1\.\d+|\d+)`), chooseJava}, toolVersions("java", func(v string) string {
			major, _, _ := strings.Cut(strings.TrimPrefix(v, "1."), ".")
			return chooseJava(major)
		}),
		{".sdkmanrc", lazyregexp.New(`(?m)^java=(\d+)`), chooseJava},
		{"pom.xml", lazyregexp.New(
			`<(?:java\.version|maven\.compiler\.release|maven\.compiler\.source|release)>\s*(1\.\d+|\d+)\s*</`), chooseJava},
		{"build.gradle", javaInGradle, chooseJava}, {"build.gradle.kts", javaInGradle, chooseJava},
	}
	targetFrameworks = lazyregexp.New(`<TargetFrameworks?>([^<]+)<`)

	javaInGradle = lazyregexp.New(`(?:JavaLanguageVersion\.of\(|jvmToolchain\(|sourceCompatibility\s*=\s*["']?|VERSION_)(1[._]\d+|\d+)`)

	dotnetVersions = []versionFile{
		{"global.json", lazyregexp.New(`"sdk"\s*:\s*\{[^{}]*"version"\s*:\s*"([^"]+)"`), chooseDotnet},
		{"Directory.Build.props", targetFrameworks, highestFramework}, {"*.csproj", targetFrameworks, highestFramework},
		{"*.fsproj", targetFrameworks, highestFramework},
	}
)

// version returns the version that the project states for a language, with its
// place. The version in the project's own folder goes before that in the
// language's folder. Value is "" when nothing is stated, or nothing that an image has.
func (l *look) version(u used) Proposal {
	return l.find(u.versions, ".", path.Dir(u.marker))
}

func (l *look) find(files []versionFile, folders ...string) Proposal {
	for _, folder := range slices.Compact(folders) {
		for _, f := range files {
			names := []string{path.Join(folder, f.name)}
			if f.name[0] == '*' {
				names = l.tree.files[f.name]
			}
			var found Proposal
			for _, name := range names {
				if p := f.in(name, l.tree.read(name)); p.Value != "" && higher(found.Value, p.Value) != found.Value {
					found = p
				}
			}
			if found.Value != "" {
				return found
			}
		}
	}
	return Proposal{}
}

// in returns the version that a file states.
func (f versionFile) in(name string, text []byte) Proposal {
	m := f.value.FindSubmatchIndex(text)
	if m == nil {
		return Proposal{}
	}
	stated := string(text[m[2]:m[3]])
	line := 1 + bytes.Count(text[:m[2]], []byte("\n"))
	return Proposal{Value: f.choose(stated), Reason: "the project asks for " + stated, File: name, Line: line}
}

// inRange reports whether some patch of a version, such as "3.13", is in a range as
// npm, pip, Bundler and Composer write them. It looks at whole versions only: where
// the notations differ, the wider reading counts.
func inRange(spec, version string) bool {
	for _, alternative := range strings.FieldsFunc(spec, func(r rune) bool { return r == '|' }) {
		if inAll(alternative, numbers(version)) {
			return true
		}
	}
	return false
}

var (
	comparator  = lazyregexp.New(`(>=|<=|==|!=|~>|~=|[<>=^~]?)\s*[vV]?(\d+(?:\.\d+)*)(\.[xX*])?`)
	hyphenRange = lazyregexp.New(`^\s*v?([\d.]+)\s+-\s+v?([\d.]+)\s*$`)
)

func inAll(spec string, v []int) bool {
	if m := hyphenRange.FindStringSubmatch(spec); m != nil {
		spec = ">=" + m[1] + " <=" + m[2]
	}
	list := comparator.FindAllStringSubmatch(spec, -1)
	for _, m := range list {
		if !holds(m[1], numbers(m[2]), v) {
			return false
		}
	}
	return len(list) > 0 || strings.TrimSpace(spec) == "*"
}

// holds compares with every patch of v: one that satisfies is enough.
func holds(operator string, want, v []int) bool {
	order := compareParts(v, want) // on the parts that both have
	switch operator {
	case ">=":
		return order >= 0
	case ">":
		return order > 0 || order == 0 && len(want) > len(v)
	case "<=":
		return order <= 0
	case "<":
		return order < 0
	case "!=":
		return true
	case "^":
		return v[0] == want[0] && order >= 0
	case "~>", "~=", "~":
		fixed := max(1, min(len(want)-1, len(v)))
		return compareParts(v[:fixed], want) == 0 && order >= 0
	}
	return order == 0
}

func compareParts(a, b []int) int {
	n := min(len(a), len(b))
	return slices.Compare(a[:n], b[:n])
}

func numbers(version string) (list []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part) // only digits come here; one too large is 0 or the largest
		list = append(list, n)
	}
	return list
}
