package lint

import (
	"slices"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/effective"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// maxComparisons bounds how many corrections are judged by their effect. Each reads the project again.
const maxComparisons = 100

// maxAround is how many bytes of files are read again for each comparison.
const maxAround = 256 << 10

// Left is a correction that Fix does not make.
type Left struct {
	diag.Finding
	// Also are the properties that it would change besides those that it is about; none when
	// they were not compared, because there were more than maxComparisons corrections.
	Also []string
}

// comparer finds what corrections of a project change besides the properties that they are about.
type comparer struct {
	table   ruleTable
	left    int // comparisons that may still be made
	project *devcontainer.Project
	before  func() effective.Meaning // of project
}

func newComparer(table ruleTable, p *devcontainer.Project) *comparer {
	x := &comparer{table: table, left: maxComparisons}
	x.at(p)
	return x
}

// at goes on with the project as it is by now.
func (x *comparer) at(p *devcontainer.Project) {
	x.project, x.before = p, sync.OnceValue(func() effective.Meaning { return effective.MeaningOf(x.version(p.Config.Src)) })
}

// version is the project with another text of its configuration: the configuration alone where the
// files around it, which no correction changes, are so large that reading them for each takes long.
func (x *comparer) version(src []byte) *devcontainer.Project {
	size := 0
	for _, doc := range x.project.Documents() {
		size += len(doc.Src)
	}
	if size > maxAround {
		return devcontainer.Parse(x.project.Config.File, src)
	}
	return x.project.With(src)
}

// also lists the properties that edits change though no correction of these reports is about them.
// known is false when no comparison is left. A text that did not parse meant nothing, so that
// nothing can be compared with it.
func (x *comparer) also(edits []jsonc.Edit, of ...report) (also []string, known bool) {
	if x.project.Config.Root == nil {
		return nil, true
	}
	if x.left--; x.left < 0 {
		return nil, false
	}
	after, _ := jsonc.Apply(x.project.Config.Src, edits)
	for _, name := range x.before().Changed(effective.MeaningOf(x.version(after))) {
		if !slices.ContainsFunc(of, func(r report) bool { return r.isAbout(x.table.of[r.Rule], name) }) {
			also = append(also, name)
		}
	}
	return also, true
}

// sound splits corrections into those that change what they are about and nothing else, and the others.
func (x *comparer) sound(wanted []report) (sound []report, left []Left) {
	for _, r := range wanted {
		if also, known := x.also(r.edits, r); known && len(also) == 0 {
			sound = append(sound, r)
		} else {
			left = append(left, Left{r.Finding, also})
		}
	}
	return sound, left
}

// separators are what names of properties are misspelt with.
var separators = strings.NewReplacer("_", "", "-", "")

// isAbout reports whether a report's correction is meant to change a property: that of the finding,
// which merged hooks have in the plural, or one of those that the rule names.
func (r report) isAbout(of *rule.Rule, name string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(r.Pointer, "/"), "/")
	top, name = separators.Replace(top), separators.Replace(name)
	return strings.EqualFold(top, name) || strings.EqualFold(top+"s", name) || slices.Contains(of.Corrects, name)
}
