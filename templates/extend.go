package templates

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/settings"
)

// ErrExtend reports a configuration that cannot be extended.
var ErrExtend = errors.New("cannot be extended")

// FeatureReference is the published Feature that extends a dev container.
func FeatureReference() string {
	return "ghcr.io/" + release.Org + "/claude-sandbox/features/firewall:0"
}

// firewallFeature is the Feature by tag, by digest, by neither, in a folder or
// as a tarball.
var firewallFeature = regexp.MustCompile(`/(firewall([:@]|$)|devcontainer-feature-firewall\.tgz$)`)

// Extend puts the firewall Feature into a devcontainer.json that somebody else
// wrote, with the mounts that keep what acts on the host from being changed;
// with Compose only the service's volumes can do that, and Extend adds none.
// Everything that is there stays as it is, comments and layout too; what is
// there already is not added again, so that a second time changes nothing. The
// error wraps ErrExtend. It is pure.
func Extend(src []byte, facts Facts, presets, allow []string) ([]byte, error) {
	e := &extender{src: src}
	doc := e.doc()
	switch {
	case e.err != nil:
	case doc.Root.Kind != jsonc.Object:
		e.fail("it is no object", "")
	case doc.Root.Member("privileged").Is(true):
		e.fail("it is privileged", "a privileged container owns the host; remove it first")
	case doc.Root.Member("containerUser") != nil:
		e.fail("its first process is not root's, who raises the firewall", "set remoteUser instead of containerUser")
	}
	if e.err != nil {
		return nil, e.err
	}
	// Under any version, and of any publisher, it is the same Feature.
	if !slices.ContainsFunc(members(doc.Root.Member("features")), func(m jsonc.Member) bool { return firewallFeature.MatchString(m.Name) }) {
		options := `{"presets": ` + jsonc.Quote(strings.Join(presets, ","))
		if len(allow) > 0 {
			options += `, "allow": ` + jsonc.Quote(strings.Join(allow, ","))
		}
		e.object("features")
		e.member("/features", FeatureReference(), options+"}")
	}
	e.object("remoteEnv")
	for _, name := range settings.EditorVariables() {
		e.member("/remoteEnv", name, "null")
	}
	if Composed(src) {
		// There readonly of a mount is dropped without a word, and the mount wins
		// over a read-only volume of the service.
		return e.src, e.err
	}
	const inside = "${containerWorkspaceFolder}/"
	bind := func(p string) string {
		return "type=bind,source=${localWorkspaceFolder}/" + p + ",target=" + inside + p
	}
	e.mount(inside+".devcontainer", bind(".devcontainer")+",readonly")
	for _, p := range facts.Pinned {
		e.mount(inside+p, bind(p))
	}
	for _, p := range facts.ReadOnly {
		e.mount(inside+p, bind(p)+",readonly")
	}
	for _, p := range facts.Covered {
		e.mount(inside+p, "type=tmpfs,target="+inside+p+",readonly")
	}
	return e.src, e.err
}

// Extended reports whether a devcontainer.json has the firewall Feature. It is
// pure.
func Extended(src []byte) bool {
	doc, _ := jsonc.Parse("", src)
	return doc != nil && slices.ContainsFunc(members(doc.Root.Member("features")), func(m jsonc.Member) bool { return firewallFeature.MatchString(m.Name) })
}

// Composed reports whether a devcontainer.json leaves its container to Docker
// Compose. It is pure.
func Composed(src []byte) bool {
	doc, _ := jsonc.Parse("", src)
	return doc != nil && doc.Root.Member("dockerComposeFile") != nil
}

// FirewallLacks lists what a firewall Feature that is in src already neither has
// among its presets nor among its entries. Its options are its owner's, and
// Extend leaves them alone. Without the Feature it is empty. It is pure.
func FirewallLacks(src []byte, presets, allow []string) []string {
	doc, _ := jsonc.Parse("", src)
	if doc == nil {
		return nil
	}
	list := members(doc.Root.Member("features"))
	at := slices.IndexFunc(list, func(m jsonc.Member) bool { return firewallFeature.MatchString(m.Name) })
	if at < 0 {
		return nil
	}
	var lacks []string
	for option, wanted := range map[string][]string{"presets": presets, "allow": allow} {
		have, _ := list[at].Value.Member(option).Str()
		for _, w := range wanted {
			if !slices.Contains(strings.Split(strings.ReplaceAll(have, " ", ""), ","), w) {
				lacks = append(lacks, w)
			}
		}
	}
	slices.Sort(lacks)
	return lacks
}

func members(n *jsonc.Node) []jsonc.Member {
	if n == nil {
		return nil
	}
	return n.Members
}

// extender makes one edit after the other and stops at the first error.
type extender struct {
	src []byte
	err error
}

func (e *extender) fail(what, hint string) {
	e.err = fmt.Errorf("devcontainer.json %w: %s", ErrExtend, what)
	if hint != "" {
		e.err = diag.WithHint(e.err, "%s", hint)
	}
}

func (e *extender) doc() *jsonc.Document {
	doc, findings := jsonc.Parse("", e.src)
	if doc == nil || slices.ContainsFunc(findings, func(f diag.Finding) bool { return f.Severity == diag.SeverityError }) {
		e.fail(fmt.Sprintf("line %d: %s", findings[0].Line, findings[0].Message), "mend it first; 'sbx-devc validate' shows everything")
	}
	return doc
}

func (e *extender) apply(edits []jsonc.Edit) { e.src, _ = jsonc.Apply(e.src, edits) }

// object makes sure that the root has an object of that name.
func (e *extender) object(name string) { e.holder(name, jsonc.Object, "{\n}") }

func (e *extender) holder(name string, kind jsonc.Kind, empty string) {
	if e.err != nil {
		return
	}
	doc := e.doc()
	switch n := doc.Root.Member(name); {
	case n == nil:
		e.apply(doc.AddMember(doc.Root, name, empty))
	case n.Kind != kind:
		e.fail(fmt.Sprintf("%s is no %s", name, kind), "")
	}
}

// member adds a member to the object at pointer, unless it has it.
func (e *extender) member(pointer, name, value string) {
	if e.err != nil {
		return
	}
	doc := e.doc()
	if holder := doc.Root.Find(pointer); holder.Member(name) == nil {
		e.apply(doc.AddMember(holder, name, value))
	}
}

// mount adds a mount, unless something is mounted at the target already.
func (e *extender) mount(target, text string) {
	e.holder("mounts", jsonc.Array, "[\n]")
	if e.err != nil {
		return
	}
	doc := e.doc()
	list := doc.Root.Member("mounts")
	taken := func(n *jsonc.Node) bool {
		object, _ := n.Member("target").Str()
		return object == target || slices.Contains(strings.Split(n.Text, ","), "target="+target)
	}
	if !slices.ContainsFunc(list.Elements, taken) {
		e.apply(doc.AddElement(list, jsonc.Quote(text)))
	}
}
