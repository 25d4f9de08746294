package rule

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// View is what the rules look at: a project, and what several of them ask of
// it. Nothing in it depends on the order in which they ask.
type View struct {
	*devcontainer.Project
	Root       *jsonc.Node // of the configuration; nil when it is no object
	Mismatches []schema.Mismatch
	Commands   map[*jsonc.Node]parsed
	scripts    map[*jsonc.Node]*jsonc.Document // of the nodes that stand for files
	// Answers that many rules need; worked out when the first one does.
	isSandbox, hasAgent func() bool
	featurePolicy       func() (*firewall.Policy, []firewall.EntryError)
	known               map[string]any // answers of Once, by name
}

// Once returns what work says of a view, and does it when the first rule asks. Callers do not change the answer.
func Once[T any](v *View, name string, work func(*View) T) T {
	if known, ok := v.known[name]; ok {
		return known.(T)
	}
	answer := work(v)
	v.known[name] = answer
	return answer
}

func NewView(p *devcontainer.Project) *View {
	v := &View{Project: p, Root: p.Object(), Commands: map[*jsonc.Node]parsed{}, scripts: map[*jsonc.Node]*jsonc.Document{},
		known: map[string]any{}}
	v.isSandbox, v.hasAgent = sync.OnceValue(v.looksSandboxed), sync.OnceValue(v.looksLikeAgent)
	v.featurePolicy = sync.OnceValues(v.readFeaturePolicy)
	switch p.Kind() {
	case devcontainer.FeatureFile:
		v.Mismatches = schema.Feature(p.Config)
	case devcontainer.TemplateFile:
		v.Mismatches = schema.Template(p.Config)
	default:
		v.Mismatches = schema.Config(p.Config)
	}
	if v.Root != nil {
		v.Mismatches = slices.Concat(v.Mismatches, schema.Lock(p.Lock), schema.Made(p.Made))
	}
	return v
}

// Of returns the rights of the given kinds.
func (v *View) Of(kinds ...rights.Kind) []rights.Right { return rights.Of(v.Rights, kinds...) }

// Mounts returns what the configuration itself mounts: properties and runArgs,
// without tmpfs.
func (v *View) Mounts() []rights.Right {
	return Once(v, "mounts", func(v *View) []rights.Right {
		return slices.Clip(slices.DeleteFunc(v.Of(rights.Mounted), func(r rights.Right) bool {
			return r.Notation != rights.Property && r.Notation != rights.Option || r.Key == "tmpfs"
		}))
	})
}

// ServiceMounts returns what the dev container's service mounts, by itself and
// by volumes_from, without tmpfs.
func (v *View) ServiceMounts() []rights.Right {
	return Once(v, "mounts of the service", func(v *View) []rights.Right {
		return slices.Clip(slices.DeleteFunc(v.Of(rights.Mounted), func(r rights.Right) bool {
			return r.Notation != rights.Compose || r.Next || r.Key == "tmpfs"
		}))
	})
}

// BaseImage is the image at the bottom of the container: the one that the configuration or its service
// names, or that the Dockerfile begins with. "" = it is not known.
func (v *View) BaseImage() string { return Once(v, "base image", (*View).findBaseImage) }

func (v *View) findBaseImage() (image string) {
	if v.LacksCompose() {
		return "" // the file may name another
	}
	if v.Build != nil {
		if v.Build.Final != nil && v.Build.Final.Base().Known {
			image = v.Build.Final.Base().Image
		}
	} else if i := slices.IndexFunc(v.Rights, func(r rights.Right) bool { return r.Kind == rights.Image && r.Own() }); i >= 0 {
		image = v.Rights[i].Value
	}
	if strings.Contains(image, "$") {
		return ""
	}
	return image
}

// LacksCompose reports whether a Compose file that the configuration names is not there or not well formed: what it says may change or
// complete what the others say of a service.
func (v *View) LacksCompose() bool {
	return Once(v, "lacks Compose", func(v *View) bool {
		return v.ByCompose() && (len(v.Compose) < len(rights.Texts(v.Root.Member("dockerComposeFile"))) ||
			v.Composed != nil && len(v.Composed.Project.Problems) > 0)
	})
}

// Check is one rule's look at a project.
type Check func(v *View) []Finding

// Finding is what a check says; the rule that the check is of adds its id and
// severity.
type Finding struct {
	rights.Place
	Message, Hint string
	Severity      diag.Severity // "" = the rule's
	// Unless are rules whose findings at the same place say that what this one is about never happens. While one of them
	// stands, unexcused, this one is left out.
	Unless []string
	Edits  []jsonc.Edit // of the configuration, that repair it
	Offer  Offer        // instead of Edits, where only a person can say that it was meant so
}

// Offer is a change of the configuration that corrects a finding if it is wanted: either edits, or
// the name of an image that is to be followed by its digest.
type Offer struct {
	Edits []jsonc.Edit
	Image string
}

// AtRight is a finding at a right.
func AtRight(r rights.Right, message, hint string) Finding {
	return Finding{Place: r.Place, Message: message, Hint: hint}
}

// AtCompose is a finding at a value of a Compose file.
func AtCompose(n *compose.Node, message, hint string) Finding {
	return Finding{Place: ComposePlace(n), Message: message, Hint: hint}
}

func ComposePlace(n *compose.Node) rights.Place {
	if n == nil {
		return rights.Place{}
	}
	return rights.Place{Doc: n.Doc, Start: n.Start, End: n.End}
}

// AtFeature is a finding at the name of the Feature that brings a right.
func (v *View) AtFeature(r rights.Right, message, hint string) Finding {
	return v.AtName(r.From, message, hint)
}

// AtDockerfile is a finding in the Dockerfile.
func (v *View) AtDockerfile(start, end int, message, hint string) Finding {
	return Finding{Place: rights.Place{Doc: v.Build.File.Doc, Start: start, End: end}, Message: message, Hint: hint}
}

// AtWord is a finding at a word of the Dockerfile.
func (v *View) AtWord(w shell.Word, message, hint string) Finding {
	return v.AtDockerfile(w.Start, w.End, message, hint)
}

// AtCommand is a finding at a command of the Dockerfile. A command over several
// lines is shown by its program.
func (v *View) AtCommand(cmd *shell.Command, message, hint string) Finding {
	return v.AtWord(cmd.Words[0], message, hint)
}

// AtName is a finding at the name of a member of the configuration.
func (v *View) AtName(m jsonc.Member, message, hint string) Finding {
	return Finding{Place: rights.Place{Doc: v.Config, Start: m.NameStart, End: m.NameEnd, Pointer: m.Value.Pointer}, Message: message,
		Hint: hint}
}

// AtValue is a finding at a value of the configuration.
func (v *View) AtValue(n *jsonc.Node, message, hint string) Finding {
	doc := v.Config
	if script := v.scripts[n]; script != nil {
		doc = script
	}
	return Finding{Place: rights.Place{Doc: doc, Start: n.Start, End: n.End, Pointer: n.Pointer}, Message: message, Hint: hint}
}

// AtMissing is a finding that something is not there, at the value that should
// have it, or at the opening bracket of the configuration.
func (v *View) AtMissing(n *jsonc.Node, message, hint string) Finding {
	if n == nil || n == v.Root {
		return Finding{Place: rights.Place{Doc: v.Config, Start: v.Root.Start, End: v.Root.Start + 1}, Message: message, Hint: hint}
	}
	return v.AtValue(n, message, hint)
}

// FixedBy adds the edits that repair what the finding says.
func (f Finding) FixedBy(edits []jsonc.Edit) Finding {
	f.Edits = edits
	return f
}

// Offering adds edits that correct the finding if a person wants them.
func (f Finding) Offering(edits []jsonc.Edit) Finding {
	f.Offer.Edits = edits
	return f
}

// PolicyFinding is a finding at a right: where it stands, or at the name of the
// Feature that brings it.
func (v *View) PolicyFinding(r rights.Right, message, hint string) Finding {
	if r.Notation != rights.Feature {
		return AtRight(r, message, hint)
	}
	return v.AtFeature(r, fmt.Sprintf("by the Feature %s, %s", r.From.Name, message), hint)
}

// Setting gives a property of the configuration a value, which is JSON.
func (c *View) Setting(name, value string) []jsonc.Edit {
	if n := c.Root.Member(name); n != nil {
		return jsonc.Replace(n, value)
	}
	return c.Config.AddMember(c.Root, name, value)
}

// Listing adds texts to a list of the configuration.
func (c *View) Listing(name string, values ...string) []jsonc.Edit {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = jsonc.Quote(v)
	}
	n := c.Root.Member(name)
	switch {
	case n == nil && len(values) == 1:
		return c.Config.AddMember(c.Root, name, "["+quoted[0]+"]")
	case n == nil:
		return c.Config.AddMember(c.Root, name, "[\n  "+strings.Join(quoted, ",\n  ")+"\n]")
	case n.Kind == jsonc.Array:
		return c.Config.AddElement(n, strings.Join(quoted, ",\n"))
	}
	return nil
}
