package devcontainer

import (
	"path"
	"slices"
	"sync"

	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// view is what the rules look at: a project, and what several of them ask of
// it. Nothing in it depends on the order in which they ask.
type view struct {
	*Project
	root   *jsonc.Node    // of the configuration; nil when it is no object
	args   []rights.Arg   // what runArgs says
	built  []rights.Arg   // what build.options says
	rights []rights.Right // what the container gets, in whichever notation
	work   *budget.Budget // how much of it others may bring
	build  *build         // the Dockerfile as it is built; nil without one
	// What many rules ask; worked out when the first one does.
	isSandbox, hasAgent func() bool
	metadata            map[string]*jsonc.Document // of local Features, by id
	tooMuch             []*jsonc.Node              // commands that were not followed to their end
}

func newView(p *Project) *view {
	v := &view{Project: p, root: p.object(), work: budget.New(maxBrought), metadata: map[string]*jsonc.Document{}}
	v.args = rights.RunOptions.Parse(v.engineOnly("runArgs"))
	if v.root.Member("dockerFile") != nil || v.root.Member("build").Member("dockerfile") != nil {
		v.built = rights.ImageOptions.Parse(v.root.Member("build").Member("options"))
	}
	if v.root != nil {
		s := rights.Sources{Config: p.Config, ByCompose: v.byCompose(), Args: v.args, Build: v.built, Budget: v.work, Metadata: v.featureMetadata}
		if p.composed != nil {
			s.Compose, s.Service = p.composed.project, p.composed.service
		}
		v.rights = rights.List(s)
	}
	v.build = readBuild(p)
	v.isSandbox, v.hasAgent = sync.OnceValue(v.looksSandboxed), sync.OnceValue(v.looksLikeAgent)
	return v
}

// maxBrought bounds the mounts that volumes_from brings, and the Features that
// dependsOn does: what takes over from several others that do the same
// multiplies them.
const maxBrought = 20_000

// of returns the rights of the given kinds.
func (v *view) of(kinds ...rights.Kind) []rights.Right { return rights.Of(v.rights, kinds...) }

// mounts returns what the configuration itself mounts: properties and runArgs,
// without tmpfs.
func (v *view) mounts() []rights.Right {
	return slices.DeleteFunc(v.of(rights.Mounted), func(r rights.Right) bool {
		return r.Notation != rights.Property && r.Notation != rights.Option || r.Key == "tmpfs"
	})
}

// serviceMounts returns what the dev container's service mounts, by itself and
// by volumes_from, without tmpfs.
func (v *view) serviceMounts() []rights.Right {
	return slices.DeleteFunc(v.of(rights.Mounted), func(r rights.Right) bool {
		return r.Notation != rights.Compose || r.Next || r.Key == "tmpfs"
	})
}

// featureMetadata returns the metadata of a Feature of the repository, or nil.
// It becomes a file of the project.
func (v *view) featureMetadata(id string) *jsonc.Document {
	if doc, ok := v.metadata[id]; ok {
		return doc
	}
	v.metadata[id] = v.readMetadata(id)
	return v.metadata[id]
}

func (v *view) readMetadata(id string) *jsonc.Document {
	if v.Tree == nil {
		return nil
	}
	name := path.Join(id, FeatureName)
	full, ok := v.Path(name)
	if !ok {
		return nil
	}
	src, err := v.Tree.Read(full)
	if err != nil {
		return nil
	}
	doc, _ := jsonc.Parse(v.quoted(name), src)
	if doc == nil || doc.Root.Kind != jsonc.Object {
		return nil
	}
	return doc
}

// check is one rule's look at a project.
type check func(v *view) []finding

// finding is what a check says; the rule that the check is of adds its id and
// severity.
type finding struct {
	rights.Place
	message, hint string
	note          bool         // no more than a note, however grave the rule is
	once          bool         // one at a place is enough: one value can be several services'
	edits         []jsonc.Edit // of the configuration, that repair it
}

// told is a finding at a right.
func told(r rights.Right, message, hint string) finding {
	return finding{Place: r.Place, message: message, hint: hint, once: r.Notation == rights.Compose}
}

// composeFinding is a finding at a value of a Compose file, once: extends and
// anchors give one value to several services.
func composeFinding(n *compose.Node, message, hint string) finding {
	return finding{Place: composePlace(n), message: message, hint: hint, once: true}
}

func composePlace(n *compose.Node) rights.Place {
	if n == nil {
		return rights.Place{}
	}
	return rights.Place{Doc: n.Doc, Start: n.Start, End: n.End}
}

// toldOfFeature is a finding at the name of the Feature that brings a right.
func (v *view) toldOfFeature(r rights.Right, message, hint string) finding {
	return finding{Place: v.memberPlace(r.From), message: message, hint: hint, once: true}
}

func (v *view) memberPlace(m jsonc.Member) rights.Place {
	return rights.Place{Doc: v.Config, Start: m.NameStart, End: m.NameEnd, Pointer: m.Value.Pointer}
}

// report adds a finding of a rule.
func (c *pass) report(rule string, f finding) {
	at := sameFinding{rule, f.Doc.File, f.Start, ""}
	if f.Doc.Root != nil {
		at.message = f.message // a name in JSON, as a Feature's, stands for several things
	}
	if f.once && c.said[at] {
		return
	}
	c.said[at] = true
	if f.Doc.Root != nil && f.Doc != c.Config { // a Feature's metadata
		c.also(f.Doc)
	}
	r := c.in(f.Doc, f.Start, f.End, f.Pointer, rule, f.message, f.hint)
	if f.note {
		r.atMost(diag.SeverityNote)
	}
	r.edits = f.edits
}

// sameFinding is where a rule has reported something, and what.
type sameFinding struct {
	rule, file string
	start      int
	message    string // "" = anything else there is the same
}

// inDockerfile is a finding in the Dockerfile.
func (v *view) inDockerfile(start, end int, message, hint string) finding {
	return finding{Place: rights.Place{Doc: v.build.file.Doc, Start: start, End: end}, message: message, hint: hint}
}

// atWord is a finding at a word of the Dockerfile.
func (v *view) atWord(w shell.Word, message, hint string) finding {
	return v.inDockerfile(w.Start, w.End, message, hint)
}

// atCommand is a finding at a command of the Dockerfile. A command over several
// lines is shown by its program.
func (v *view) atCommand(cmd *shell.Command, message, hint string) finding {
	return v.atWord(cmd.Words[0], message, hint)
}

// named is a finding at a member's name.
func (v *view) named(m jsonc.Member, message, hint string) finding {
	return finding{Place: v.memberPlace(m), message: message, hint: hint}
}

// fixedBy adds the edits that repair what the finding says.
func (f finding) fixedBy(edits []jsonc.Edit) finding {
	f.edits = edits
	return f
}
