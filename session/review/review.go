package review

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Input is what a review is made of.
type Input struct {
	Run     string // its id
	Project string // the user's folder
	Set     *changes.Set
	Patch   []byte         // the set's diff
	WorkDir string         // the project's folder as the agent named it; "" = /workspace
	Calls   []agent.Call   // of the transcript; nil = none is known
	Audit   []audit.Record // what the firewall decided
	NoAudit bool           // reads from the network were not recorded
	Earlier []Earlier      // in commits before the last one, whose files Set does not have
}

// Earlier is something dangerous in commits that is not in the files of the last one.
type Earlier struct {
	Path string // of a file, or what else it is
	Finding
}

// Review is the changes of a run, the dangerous ones first.
type Review struct {
	Run       string   `json:"run"`
	Project   string   `json:"project"`
	Headline  string   `json:"headline"`  // "4 files changed, +12 -3 lines"
	Dangerous int      `json:"dangerous"` // so many of Files, at their beginning
	Files     []File   `json:"files"`
	Unlooked  []string `json:"unlooked,omitempty"` // sentences: what no review can see
}

// File is one changed path.
type File struct {
	Path     string    `json:"path"` // below the project, slash-separated
	RawPath  []byte    `json:"rawPath,omitempty"`
	What     string    `json:"what"`               // in words: "new", "changed", "mode 0755, was 0644"
	Size     string    `json:"size,omitempty"`     // "+3 -1", "410 MB"
	Note     string    `json:"note,omitempty"`     // why its content is not shown
	Kinds    []Kind    `json:"kinds,omitempty"`    // of all findings, the most dangerous first
	Findings []Finding `json:"findings,omitempty"` // about all of the file; its hunks have theirs
	Hunks    []Hunk    `json:"hunks"`              // at least one

	Change changes.Change `json:"-"`

	diff []Hunk // of its part of the diff, also where it is one item
}

// Before are the hunks that lead from what the file held before the run to what it
// holds; those of a path that became another type of thing only take away.
func (f *File) Before() []Hunk {
	if f.Change.Kind == changes.Type && len(f.diff) > 1 {
		return f.diff[:1]
	}
	return f.diff
}

// New makes the review. It errs when the diff is not that of the set.
func New(in Input) (*Review, error) {
	r := &Review{Run: in.Run, Project: in.Project, Headline: in.Set.Headline()}
	origins, finds := newOrigins(in), &finder{obeyed.NewTable(), redact.New(redact.Options{Patterns: true})}
	r.Files = make([]File, 0, len(in.Set.Changes))
	for _, c := range in.Set.Changes {
		f, err := finds.file(c, in.Patch)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", c.Path, err)
		}
		origins.fill(&f)
		r.Files = append(r.Files, f)
	}
	r.addRepositories(in.Set.Repositories, origins)
	for _, e := range in.Earlier {
		r.addAlone(e.Path, "in the commits", e.Finding, origins)
	}
	for i := range r.Files {
		f := &r.Files[i]
		if f.Kinds = f.kinds(); f.Dangerous() {
			r.Dangerous++
		}
	}
	slices.SortStableFunc(r.Files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(a.Path, b.Path))
	})
	r.Unlooked = in.Set.Unlooked()
	if in.Set.More > 0 {
		r.Unlooked = append(r.Unlooked, fmt.Sprintf("%d more changes, beyond those that a run keeps", in.Set.More))
	}
	return r, nil
}

// addRepositories adds findings about repositories that were not there, and files
// for those whose path is not among the changes.
func (r *Review) addRepositories(found []changes.Repository, origins *origins) {
	for _, repo := range found {
		at := Finding{Kind: Repository, Text: string(repo.Kind) + ", which was not there"}
		if len(repo.Acts) > 0 {
			at.Text += "; git would obey " + strings.Join(repo.Acts, ", ")
			if repo.Head != "" {
				at.Text += "; its HEAD is " + repo.Head + " now, so that it does not"
			}
		}
		if i := slices.IndexFunc(r.Files, func(f File) bool { return f.Path == repo.Path }); i >= 0 {
			r.Files[i].Findings = append([]Finding{at}, r.Files[i].Findings...)
			continue
		}
		r.addAlone(repo.Path, "new repository", at, origins)
	}
}

// addAlone adds a finding about a path that is not among the changes.
func (r *Review) addAlone(path, what string, at Finding, origins *origins) {
	f := File{Path: path, What: what, Findings: []Finding{at}, Change: changes.Change{Path: path, Folded: true}}
	f.whole("")
	origins.fill(&f)
	r.Files = append(r.Files, f)
}

// finder finds what is dangerous.
type finder struct {
	table   *obeyed.Table
	secrets *redact.Redactor
}

// file makes the file of a change out of its part of the diff.
func (at *finder) file(c changes.Change, patch []byte) (File, error) {
	row := c.Row()
	f := File{Path: c.Path, RawPath: c.RawPath, What: row.What, Size: row.Size, Note: c.Note, Change: c}
	if c.Patch.At < 0 || c.Patch.Size < 0 || c.Patch.At > int64(len(patch)) || c.Patch.Size > int64(len(patch))-c.Patch.At {
		return f, errDiff
	}
	patch = patch[c.Patch.At : c.Patch.At+c.Patch.Size]
	hunks, err := splitPatch(patch)
	if err != nil {
		return f, err
	}
	for i := range hunks {
		hunks[i].hidden = len(c.Secrets) > 0
	}
	about := fmt.Sprint(c.Kind, stateWords(c.Before), stateWords(c.After))
	if c.Kind != changes.Changed || len(hunks) == 0 || c.Note != "" {
		f.whole(about)
		for _, h := range hunks {
			f.Hunks[0].Text = append(f.Hunks[0].Text, h.head()+"\n"...)
			f.Hunks[0].Text = append(f.Hunks[0].Text, h.Text...)
		}
	} else {
		f.Hunks = hunks
		if c.Before.Mode != c.After.Mode {
			f.What += fmt.Sprintf(", mode %04o, was %04o", c.After.Mode, c.Before.Mode)
			f.Hunks = append([]Hunk{{Part: Bits}}, f.Hunks...)
		}
	}
	for i := range f.Hunks {
		f.Hunks[i].name(c.Path, about)
	}
	f.diff = hunks
	at.find(&f, hunks)
	return f, nil
}

// whole makes the change one item.
func (f *File) whole(about string) {
	f.Hunks = []Hunk{{Part: Whole}}
	f.Hunks[0].name(f.Path, about)
}

func stateWords(s *changes.State) string {
	if s == nil {
		return " -"
	}
	return fmt.Sprintf(" %s %o %d %q", s.What, s.Mode, s.Size, s.Target)
}

// find collects what is dangerous about the file. hunks are those of its diff.
func (at *finder) find(f *File, hunks []Hunk) {
	f.findByName(at.table)
	f.findByState()
	looks := newLook(f.Change, at.secrets)
	for _, s := range f.Change.Secrets {
		switch {
		case s.InName:
			f.add(Value, "its name holds the value of "+s.Name)
		case s.Line == 0 && !s.Former:
			f.add(Value, "the value of "+s.Name)
		}
	}
	for i := range hunks {
		found := append(f.values(&hunks[i]), looks.hunk(&hunks[i])...)
		if len(f.Hunks) == 1 {
			f.Hunks[0].Findings = append(f.Hunks[0].Findings, found...)
			continue
		}
		f.Hunks[len(f.Hunks)-len(hunks)+i].Findings = found
	}
	for _, host := range f.Change.NewPackageHosts {
		if !looks.hosts[host] {
			f.add(Install, takesFrom(host))
		}
	}
}

// values are the secrets whose values a hunk brings.
func (f *File) values(h *Hunk) (found []Finding) {
	for _, s := range f.Change.Secrets {
		if s.Line > 0 && s.Line >= h.NewStart && s.Line < h.NewStart+h.NewLines {
			found = append(found, Finding{Value, s.Line, "the value of " + s.Name + ", shown as asterisks"})
		}
	}
	return found
}

// findByName looks at the path.
func (f *File) findByName(table *obeyed.Table) {
	c := f.Change
	if k := kindOf(c.Class); k != "" {
		f.add(k, c.Class.Reason())
	}
	if c.Twin != "" {
		f.add(Name, "some file systems take it for "+c.Twin)
	}
	if text := misleads(f.Path); text != "" {
		f.add(Name, text)
	}
	if c.From != "" && c.Class < table.Class(c.From, nil) {
		f.add(kindOf(table.Class(c.From, nil)), "moved from "+c.From)
	}
}

// findByState looks at the type, the mode and what is not shown.
func (f *File) findByState() {
	c := f.Change
	if after := c.After; after != nil {
		switch {
		case after.What == changes.Symlink:
			f.add(Link, "leads to "+after.Target+leadsOut(f.Path, after.Target))
		case after.What == changes.Special:
			f.add(Link, cmp.Or(c.Note, "a socket, a pipe or a device"))
		case c.Kind == changes.Type:
			f.add(Link, "another type of thing than before")
		}
		before := uint32(0)
		if c.Before != nil && c.Before.What == after.What {
			before = c.Before.Mode
		}
		if fresh := after.Mode &^ before; after.What == changes.File || after.What == changes.Folder && c.Before != nil {
			switch {
			case fresh&0o6000 != 0:
				f.add(Mode, fmt.Sprintf("gives the rights of its owner to those who run it (%04o)", after.Mode))
			case after.What == changes.File && fresh&0o111 != 0:
				f.add(Mode, "may be executed")
			case fresh&0o002 != 0:
				f.add(Mode, "everybody may write to it")
			}
		}
	}
	switch {
	case c.Folded && c.After != nil && (c.Class != obeyed.None || c.Note != "git's own files, whose content is not shown"):
		f.add(NotShown, fmt.Sprintf("%d files that are not shown one by one", c.Files))
	case c.Note == changes.NoteBinary:
		f.add(Binary, "binary")
	case c.Note != "" && !c.Folded:
		f.add(NotShown, c.Note)
	}
}

// leadsOut says where a link leads that does not stay in the project.
func leadsOut(at, target string) string {
	to := path.Join(path.Dir(at), strings.ReplaceAll(target, `\`, "/"))
	switch {
	case path.IsAbs(target), strings.HasPrefix(to, "../"), to == "..", strings.Contains(target, ":"), strings.HasPrefix(target, `\`):
		return ", out of the project"
	case strings.HasPrefix(to+"/", ".git/"):
		return ", into the repository's own folder"
	}
	return ""
}

func (f *File) add(k Kind, text string) {
	if k != "" {
		f.Findings = append(f.Findings, Finding{Kind: k, Text: text})
	}
}

// all yields the findings of the file and of its hunks.
func (f *File) all() func(yield func(Finding) bool) {
	return func(yield func(Finding) bool) {
		for _, at := range f.Findings {
			if !yield(at) {
				return
			}
		}
		for i := range f.Hunks {
			for _, at := range f.Hunks[i].Findings {
				if !yield(at) {
					return
				}
			}
		}
	}
}

// kinds are the kinds of the file's findings, the most dangerous first.
func (f *File) kinds() (kinds []Kind) {
	for at := range f.all() {
		if !slices.Contains(kinds, at.Kind) {
			kinds = append(kinds, at.Kind)
		}
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return cmp.Compare(rank(a), rank(b)) })
	return kinds
}

// rank is that of the file's most dangerous finding.
func (f *File) rank() int {
	if len(f.Kinds) == 0 {
		return len(kinds)
	}
	return rank(f.Kinds[0])
}

// Dangerous reports whether a person should look at the file.
func (f *File) Dangerous() bool { return len(f.Kinds) > 0 }

// Unasked reports whether something obeys the file although the project is not run,
// or it is not what it looks like.
func (f *File) Unasked() bool {
	return slices.ContainsFunc(f.Kinds, func(k Kind) bool { return k.info().Unasked })
}
