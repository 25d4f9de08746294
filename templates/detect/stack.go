package detect

import (
	"cmp"
	"path"
	"slices"

	"github.com/org/claude-sandbox/firewall"
)

// used is a language of the project.
type used struct {
	language
	marker string // the file that says so
	bytes  int64  // of its source files, as far as they were looked at
}

// stack proposes the template of the project's main language, the tools of the
// others, and the preset of each language's packages.
func (l *look) stack() {
	var list []used
	for _, lang := range languages {
		if marker := l.marker(lang.markers); marker != "" {
			list = append(list, used{lang, marker, l.tree.bytesOf(lang.sources)})
		}
	}
	if len(list) == 0 { // scripts without a file of a package manager
		for _, lang := range languages {
			if bytes := l.tree.bytesOf(lang.sources); bytes > 0 && lang.template != "" {
				list = append(list, used{lang, l.marker(lang.sourceFiles()), bytes})
			}
		}
	}
	for _, u := range list {
		for _, group := range u.presets {
			if preset := existing(group); preset != "" {
				add(&l.report.Presets, Proposal{Value: preset, Reason: "packages of " + u.name, File: u.marker})
			} else {
				l.note(u.marker, 0, "%s is used here, and no preset covers its packages; name its hosts with --allow", u.name)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b used) int {
		return cmp.Or(-cmp.Compare(a.bytes, b.bytes), cmp.Compare(depth(a.marker), depth(b.marker)))
	})
	main := mainLanguage(list)
	for i, u := range list {
		// A language with hardly any source, as a package.json for a formatter has, gets no
		// tools, unless its file stands in the project's own folder.
		l.language(u, i == main, depth(u.marker) == 0 || u.bytes*10 >= list[0].bytes)
	}
	l.buildTools()
}

// mainLanguage returns the index of the language whose image is the base: the
// heaviest that has a template. One whose tools cannot be copied from an image goes
// before one whose can, unless it is much lighter.
func mainLanguage(list []used) int {
	main := slices.IndexFunc(list, func(u used) bool { return u.template != "" })
	if main < 0 || list[main].tool == "" {
		return main
	}
	for i, u := range list {
		if u.template != "" && u.tool == "" && u.bytes*10 >= list[main].bytes && (u.bytes > 0 || depth(u.marker) == 0) {
			return i
		}
	}
	return main
}

// language reports one language of the project. worth says whether it is used so
// much that its tools belong into the image.
func (l *look) language(u used, main, worth bool) {
	found := l.version(u)
	if main {
		l.report.Template = Proposal{Value: u.template, Reason: "the project is written in " + u.name, File: u.marker}
	}
	out := Language{Name: u.name, File: u.marker, Template: u.template, Packages: u.packages, Version: found}
	if u.option == "" {
		l.report.Languages = append(l.report.Languages, out)
		return
	}
	if image := u.image(l, found.Value); found.Value != "" || image != u.image(l, "") || u.always {
		out.Option = u.option + "=" + image
	}
	if worth && u.tool != "" {
		out.Tools = []string{u.tool}
		if found.Value != "" {
			out.Tools[0] += "=" + u.toolImage(found.Value)
		}
		if u.name == "Python" {
			out.Tools = append(out.Tools, "uv")
		}
	}
	l.report.Languages = append(l.report.Languages, out)
}

// buildTools reports programs that are neither a language nor in an image of one.
func (l *look) buildTools() {
	if file := l.marker([]string{"bun.lock", "bun.lockb"}); file != "" {
		tool, version := "bun", l.find([]versionFile{packageManager("bun")}, ".", path.Dir(file))
		if version.Value != "" {
			tool += "=oven/bun:" + version.Value
		}
		l.report.Languages = append(l.report.Languages, Language{Name: "Bun", File: file, Version: version, Tools: []string{tool}})
	}
	if file := l.marker([]string{"gradlew", "build.gradle", "build.gradle.kts"}); file != "" {
		add(&l.report.Presets, Proposal{Value: "gradle", Reason: "Gradle and its plugins", File: file})
	}
}

// marker returns the first file of one of these names, in the project's own folder
// first. "*.x" is any file that ends so.
func (l *look) marker(names []string) string {
	best := ""
	for _, name := range names {
		for _, file := range l.tree.files[name] {
			if best == "" || depth(file) < depth(best) {
				best = file
			}
		}
	}
	return best
}

// depth counts the folders above a file.
func depth(file string) (n int) {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		n++
	}
	return n
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
