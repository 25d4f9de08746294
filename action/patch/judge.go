package patch

import (
	"fmt"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Rules are what a patch may be.
type Rules struct {
	Folder   string // of the repository, slash-separated, that the patch's paths are below; "" = its root
	MaxFiles int
	MaxBytes int64 // of added lines, in all
	// Ignored reports whether the repository's own rules leave a path out of commits.
	Ignored func(path string) bool
}

// Verdict is the judgement of a patch.
type Verdict struct {
	Files     []File    // what is applied: of the patch, without ignored new files; paths are of the repository
	Ignored   []string  // paths that are left out, because the repository ignores them
	Refused   []Finding // any = nothing may be applied
	Protected []Finding // a person has to look at them
}

// Finding is one path and why.
type Finding struct {
	Path string // as visible.Line shows it; "" = it is about the patch as a whole
	Why  string
}

// String is the finding as a line.
func (f Finding) String() string {
	if f.Path == "" {
		return f.Why
	}
	return f.Path + ": " + f.Why
}

// Paths are those that Judge asks about in Ignored.
func (r Rules) Paths(p *Patch) (paths []string) {
	for _, f := range p.Files {
		if f.Added && badPath(f.Path) == "" {
			paths = append(paths, path.Join(r.Folder, f.Path))
		}
	}
	for _, n := range p.Notes {
		if shown := strings.TrimSuffix(n.Path, "/"); n.Path != "" && badPath(shown) == "" {
			paths = append(paths, path.Join(r.Folder, shown))
		}
	}
	return paths
}

// Judge judges a patch by its names, modes and sizes.
func (r Rules) Judge(p *Patch) Verdict {
	var v Verdict
	refuse := func(name, format string, args ...any) {
		v.Refused = append(v.Refused, Finding{visible.Line(name), fmt.Sprintf(format, args...)})
	}
	table, names, total := obeyed.NewTable(), map[string]string{}, int64(0)
	for _, f := range p.Files {
		if why := badPath(f.Path); why != "" {
			refuse(f.Path, "%s", why)
			continue
		}
		if r.Folder != "" && strings.HasPrefix(f.Path, r.Folder+"/") {
			refuse(f.Path, "the patch's paths are those of the repository already: leave working_directory out")
		}
		f.Path = path.Join(r.Folder, f.Path)
		if f.Added && r.Ignored(f.Path) {
			v.Ignored = append(v.Ignored, visible.Line(f.Path))
			continue
		}
		if why := f.refused(); why != "" {
			refuse(f.Path, "%s", why)
		}
		folded := obeyed.FoldedPath(f.Path)
		if other, twice := names[folded]; twice {
			refuse(f.Path, "the patch has it twice, or some file systems take it for %s", visible.Line(other))
		}
		names[folded] = f.Path
		if why := f.protected(table); why != "" {
			v.Protected = append(v.Protected, Finding{visible.Line(f.Path), why})
		}
		total += f.Bytes
		v.Files = append(v.Files, f)
	}
	for _, n := range p.Notes {
		shown := strings.TrimSuffix(n.Path, "/")
		if n.noCommitHas() {
			continue
		}
		if n.Path == "" || badPath(shown) != "" || !r.Ignored(path.Join(r.Folder, shown)) {
			v.Protected = append(v.Protected, Finding{Why: "not in the patch: " + visible.Line(n.Text)})
		}
	}
	if len(v.Files) > r.MaxFiles {
		refuse("", "%d files change, and at most %d may", len(v.Files), r.MaxFiles)
	} else {
		for _, f := range v.Files {
			if above := fileAbove(f.Path, names); above != "" {
				refuse(f.Path, "the patch has the file %s, too", visible.Line(above))
			}
		}
	}
	if total > r.MaxBytes {
		refuse("", "%d bytes are added, and at most %d may be", total, r.MaxBytes)
	}
	slices.SortFunc(v.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return v
}

// fileAbove is the file of a patch that is where another one of it needs a folder; "" = there
// is none. names are those of its files by their folded form.
func fileAbove(name string, names map[string]string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if other, there := names[obeyed.FoldedPath(dir)]; there {
			return other
		}
	}
	return ""
}

// maxPath bounds a path, in bytes.
const maxPath = 1024

// shortName is the form of names such as GITMOD~1, by which Windows finds .gitmodules.
var shortName = regexp.MustCompile(`^[^.~]{1,7}~[0-9]+(\.[^.]{0,3})?$`)

// badPath says why a path is none that a commit may have; "" = it may.
func badPath(p string) string {
	switch {
	case p == "" || len(p) > maxPath || !utf8.ValidString(p):
		return "its path is empty, too long or no UTF-8"
	case path.IsAbs(p) || path.Clean(p) != p || p == ".." || strings.HasPrefix(p, "../"):
		return "its path leads out of the repository, or is not plain"
	case strings.ContainsAny(p, `\:`) || strings.ContainsFunc(p, func(c rune) bool { return unicode.IsControl(c) || obeyed.Unseen(c) }):
		return `its path has a "\", a ":" or a character that cannot be seen`
	}
	for part := range strings.SplitSeq(p, "/") {
		switch {
		case obeyed.IsGitName(obeyed.Folded(part)):
			return "it is in a git directory"
		case strings.TrimRight(part, ". ") != part:
			return "a name in its path ends with a dot or a blank"
		case shortName.MatchString(part):
			return "a name in its path is a short one of Windows, which means another file there"
		}
	}
	return ""
}

// refused says why a file's change may not be applied; "" = it may.
func (f *File) refused() string {
	for _, mode := range []string{f.OldMode, f.NewMode} {
		switch mode {
		case "", Plain, Executable:
		case "120000":
			return "it is a symbolic link"
		case "160000":
			return "it is a submodule"
		default:
			return fmt.Sprintf("its mode is %.20q", mode)
		}
	}
	switch {
	case f.Added && f.NewMode == "":
		return "it is new and has no mode"
	case f.whole != nil && f.whole.was == f.whole.is:
		return "the patch says nothing of what changed"
	case f.whole != nil:
	case f.Binary:
		return "its content is binary, and not in the patch"
	case !f.Added && !f.Removed && f.OldMode != "" && f.NewMode == "":
		return "it has a former mode and no new one"
	case f.hunks == nil && f.OldMode == f.NewMode:
		return "the patch says nothing of what changed"
	}
	return ""
}

// protected says why a person has to look at a file's change; "" = nothing does.
func (f *File) protected(table *obeyed.Table) string {
	if class := table.Class(f.Path, nil); class != obeyed.None {
		return class.Reason()
	}
	if f.NewMode == Executable {
		return "it becomes a program"
	}
	if f.whole != nil && !f.Removed && pictures[strings.ToLower(path.Ext(f.Path))] != http.DetectContentType(f.whole.content) {
		return "it is binary, which no review shows, and no picture"
	}
	return ""
}

// pictures are the binary files that GitHub shows to those who review, by their ends.
var pictures = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".ico": "image/x-icon",
}
