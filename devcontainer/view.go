package devcontainer

import (
	"slices"
	"sync"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// view is what the rules look at: a project, and what several of them ask of
// it. Nothing in it depends on the order in which they ask.
type view struct {
	*Project
	root       *jsonc.Node // of the configuration; nil when it is no object
	mismatches []schema.Mismatch
	commands   map[*jsonc.Node]parsed
	// What many rules ask; worked out when the first one does.
	isSandbox, hasAgent func() bool
}

func newView(p *Project) *view {
	v := &view{Project: p, root: p.object(), commands: map[*jsonc.Node]parsed{}}
	v.isSandbox, v.hasAgent = sync.OnceValue(v.looksSandboxed), sync.OnceValue(v.looksLikeAgent)
	switch p.Kind() {
	case FeatureFile:
		v.mismatches = schema.Feature(p.Config)
	case TemplateFile:
		v.mismatches = schema.Template(p.Config)
	default:
		v.mismatches = schema.Config(p.Config)
	}
	if v.root != nil {
		v.mismatches = slices.Concat(v.mismatches, schema.Lock(p.Lock), schema.Made(p.Made))
	}
	return v
}

// of returns the rights of the given kinds.
func (v *view) of(kinds ...rights.Kind) []rights.Right { return rights.Of(v.Rights, kinds...) }

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

// check is one rule's look at a project.
type check func(v *view) []finding

// finding is what a check says; the rule that the check is of adds its id and
// severity.
type finding struct {
	rights.Place
	message, hint string
	severity      diag.Severity // "" = the rule's
	edits         []jsonc.Edit  // of the configuration, that repair it
}

// atRight is a finding at a right.
func atRight(r rights.Right, message, hint string) finding {
	return finding{Place: r.Place, message: message, hint: hint}
}

// atCompose is a finding at a value of a Compose file.
func atCompose(n *compose.Node, message, hint string) finding {
	return finding{Place: composePlace(n), message: message, hint: hint}
}

func composePlace(n *compose.Node) rights.Place {
	if n == nil {
		return rights.Place{}
	}
	return rights.Place{Doc: n.Doc, Start: n.Start, End: n.End}
}

// atFeature is a finding at the name of the Feature that brings a right.
func (v *view) atFeature(r rights.Right, message, hint string) finding {
	return v.atName(r.From, message, hint)
}

// atDockerfile is a finding in the Dockerfile.
func (v *view) atDockerfile(start, end int, message, hint string) finding {
	return finding{Place: rights.Place{Doc: v.Build.file.Doc, Start: start, End: end}, message: message, hint: hint}
}

// atWord is a finding at a word of the Dockerfile.
func (v *view) atWord(w shell.Word, message, hint string) finding {
	return v.atDockerfile(w.Start, w.End, message, hint)
}

// atCommand is a finding at a command of the Dockerfile. A command over several
// lines is shown by its program.
func (v *view) atCommand(cmd *shell.Command, message, hint string) finding {
	return v.atWord(cmd.Words[0], message, hint)
}

// atName is a finding at the name of a member of the configuration.
func (v *view) atName(m jsonc.Member, message, hint string) finding {
	return finding{Place: rights.Place{Doc: v.Config, Start: m.NameStart, End: m.NameEnd, Pointer: m.Value.Pointer}, message: message, hint: hint}
}

// atValue is a finding at a value of the configuration.
func (v *view) atValue(n *jsonc.Node, message, hint string) finding {
	return finding{Place: rights.Place{Doc: v.Config, Start: n.Start, End: n.End, Pointer: n.Pointer}, message: message, hint: hint}
}

// atMissing is a finding that something is not there, at the value that should
// have it, or at the opening bracket of the configuration.
func (v *view) atMissing(n *jsonc.Node, message, hint string) finding {
	if n == nil || n == v.root {
		return finding{Place: rights.Place{Doc: v.Config, Start: v.root.Start, End: v.root.Start + 1}, message: message, hint: hint}
	}
	return v.atValue(n, message, hint)
}

// fixedBy adds the edits that repair what the finding says.
func (f finding) fixedBy(edits []jsonc.Edit) finding {
	f.edits = edits
	return f
}
