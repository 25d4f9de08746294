package templates

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// ErrExtend reports a configuration that cannot be extended.
var ErrExtend = errors.New("cannot be extended")

// LocalFeature is the Feature in the folder that LocalFeatureFolder names, as a
// configuration in .devcontainer refers to it.
const LocalFeature = "./firewall"

// LocalFeatureFolder is where init puts the Feature that sbx-devc carries.
const LocalFeatureFolder = ".devcontainer/firewall"

// LocalClaude and LocalClaudeFolder are the same for the Feature that installs Claude
// Code.
const (
	LocalClaude       = "./claude"
	LocalClaudeFolder = ".devcontainer/claude"
)

// firewallFeature is the Feature by tag, by digest, by neither, in a folder or
// as a tarball.
var firewallFeature = regexp.MustCompile(`/(firewall([:@]|$)|devcontainer-feature-firewall\.tgz$)`)

// Extension is what Extend adds.
type Extension struct {
	Facts   Facts
	Presets []string
	Allow   []string
	Private []string // names of Allow that lead to private addresses
	Network string   // of the engine, in which these are; "" = none is joined
	// StartUser is the user of the container's first process now; "" when nothing
	// but the image says it.
	StartUser string
	// Claude adds the Feature that installs Claude Code.
	Claude bool
}

// Extend puts the firewall Feature of LocalFeatureFolder into a devcontainer.json
// that somebody else wrote, with the mounts that keep what acts on the host from
// being changed; with Compose only the service's volumes can do that, and Extend
// adds none. A hook that does nothing but raise a firewall with sudo, as
// Anthropic's reference does, is taken out, and the container starts as root,
// while the agent stays who it is. Everything else that is there stays as it is,
// comments and layout too; what is there already is not added again, so that a
// second time changes nothing. changes has a sentence for each line that is not
// kept. The error wraps ErrExtend. It is pure.
func Extend(src []byte, x Extension) (out []byte, changes []string, err error) {
	e := &extender{src: src}
	doc := e.doc()
	switch {
	case e.err != nil:
	case doc.Root.Kind != jsonc.Object:
		e.fail("it is no object", "")
	case doc.Root.Member("privileged").Is(true):
		e.fail("it is privileged", "a privileged container owns the host; remove it first")
	}
	if e.err != nil {
		return nil, nil, e.err
	}
	facts := x.Facts
	e.dropFirewallHook()
	e.startAsRoot(x.StartUser)
	// Under any version, and of any publisher, it is the same Feature.
	if !Extended(e.src) {
		options := `{"presets": ` + jsonc.Quote(strings.Join(x.Presets, ","))
		if len(x.Allow) > 0 {
			options += `, "allow": ` + jsonc.Quote(strings.Join(x.Allow, ","))
		}
		if len(x.Private) > 0 {
			options += `, "private": ` + jsonc.Quote(strings.Join(x.Private, ","))
		}
		e.object("features")
		e.member("/features", LocalFeature, options+"}")
	}
	if x.Claude {
		e.object("features")
		e.member("/features", LocalClaude, "{}")
	}
	e.object("remoteEnv")
	for _, name := range obeyed.EditorVariables() {
		e.member("/remoteEnv", name, "null")
	}
	if Composed(src) {
		// There readonly of a mount is dropped without a word, and the mount wins
		// over a read-only volume of the service.
		return e.src, e.changes, e.err
	}
	if x.Network != "" {
		e.join(x.Network)
	}
	// Empty at every start, so that sbx-init may say there that its firewall is verified.
	e.mount("/run/sbx", "type=tmpfs,target=/run/sbx,tmpfs-mode=0755,tmpfs-size=160m")
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
	return e.src, e.changes, e.err
}

// Extended reports whether a devcontainer.json has the firewall Feature. It is
// pure.
func Extended(src []byte) bool {
	_, feature := firewallIn(src)
	return feature != nil
}

// NamesAgent reports whether a devcontainer.json names the user of sessions, who
// is the agent. It is pure.
func NamesAgent(src []byte) bool {
	return rootOf(src).Member("remoteUser") != nil
}

// Composed reports whether a devcontainer.json leaves its container to Docker
// Compose. It is pure.
func Composed(src []byte) bool {
	return rootOf(src).Member("dockerComposeFile") != nil
}

// Joins reports whether a devcontainer.json puts its container into a network of the
// engine, as Extend does. It is pure.
func Joins(src []byte, network string) bool {
	list := rootOf(src).Member("runArgs")
	return network != "" && list != nil &&
		slices.ContainsFunc(list.Elements, func(n *jsonc.Node) bool { return n.Text == networkArg+network })
}

// ExtendedLocally reports whether that Feature is the one in LocalFeatureFolder.
// It is pure.
func ExtendedLocally(src []byte) bool {
	return rootOf(src).Member("features").Member(LocalFeature) != nil
}

// HasLocalClaude reports whether a devcontainer.json has the Feature in
// LocalClaudeFolder. It is pure.
func HasLocalClaude(src []byte) bool {
	return rootOf(src).Member("features").Member(LocalClaude) != nil
}

// rootOf is the value of a devcontainer.json; nil, which has no member, for one that is
// not well formed.
func rootOf(src []byte) *jsonc.Node {
	doc, _ := jsonc.Parse("", src)
	if doc == nil {
		return nil
	}
	return doc.Root
}

// FirewallLacks lists what a firewall Feature that is in src already neither has
// among its presets nor among its entries. Its options are its owner's, and
// Extend leaves them alone. Without the Feature it is empty. It is pure.
func FirewallLacks(src []byte, presets, allow []string) []string {
	_, feature := firewallIn(src)
	if feature == nil {
		return nil
	}
	var lacks []string
	for option, wanted := range map[string][]string{"presets": presets, "allow": allow} {
		have, _ := feature.Member(option).Str()
		for _, w := range wanted {
			if !slices.Contains(strings.Split(strings.ReplaceAll(have, " ", ""), ","), w) {
				lacks = append(lacks, w)
			}
		}
	}
	slices.Sort(lacks)
	return lacks
}

// FirewallOption is an option of the firewall Feature: a list, as its owner wrote it.
type FirewallOption struct {
	Name    string // "presets", "allow", "deny" or "private", as in the settings
	Entries []string
	Line    int // where it stands; 0 = it is the Feature's default
}

// FirewallOptions returns the options of the firewall Feature in a devcontainer.json;
// nil where there is none, or one depends on a variable. It is pure.
func FirewallOptions(src []byte) []FirewallOption {
	doc, feature := firewallIn(src)
	if feature == nil {
		return nil
	}
	var out []FirewallOption
	for _, o := range []struct{ name, byDefault string }{
		{"presets", "anthropic,github,vscode"}, {"allow", ""}, {"deny", "gist.github.com"}, {"private", ""},
	} {
		option := FirewallOption{Name: o.name}
		text, ok := feature.Member(o.name).Str()
		if ok {
			option.Line, _ = doc.Position(feature.Member(o.name).Start)
		} else {
			text = o.byDefault
		}
		if strings.Contains(text, "${") {
			return nil
		}
		for entry := range strings.SplitSeq(text, ",") {
			if entry = strings.TrimSpace(entry); entry != "" {
				option.Entries = append(option.Entries, entry)
			}
		}
		out = append(out, option)
	}
	return out
}

// SetFirewallOption returns a devcontainer.json with another list in an option of the
// firewall Feature. Everything else stays byte for byte. The error wraps ErrExtend. It
// is pure.
func SetFirewallOption(src []byte, name string, entries []string) ([]byte, error) {
	doc, feature := firewallIn(src)
	if feature == nil || feature.Kind != jsonc.Object {
		return nil, fmt.Errorf("devcontainer.json %w: the firewall Feature has no options to change", ErrExtend)
	}
	text := jsonc.Quote(strings.Join(entries, ","))
	var edits []jsonc.Edit
	if n := feature.Member(name); n != nil {
		edits = jsonc.Replace(n, text)
	} else {
		edits = doc.AddMember(feature, name, text)
	}
	out, _ := jsonc.Apply(src, edits)
	return out, nil
}

// firewallIn returns the options of the firewall Feature; nil without that.
func firewallIn(src []byte) (*jsonc.Document, *jsonc.Node) {
	doc, _ := jsonc.Parse("", src)
	if doc == nil {
		return nil, nil
	}
	list := doc.Root.Member("features").Fields()
	at := slices.IndexFunc(list, func(m jsonc.Member) bool { return firewallFeature.MatchString(m.Name) })
	if at < 0 {
		return nil, nil
	}
	return doc, list[at].Value
}

// extender makes one edit after the other and stops at the first error.
type extender struct {
	src     []byte
	changes []string // sentences about lines that are not kept
	err     error
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
		e.fail(fmt.Sprintf("line %d: %s", findings[0].Line, findings[0].Message), "correct it first; 'sbx-devc validate' shows everything")
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

// join puts the container into a network of the engine, unless it names one already.
func (e *extender) join(network string) {
	e.holder("runArgs", jsonc.Array, "[\n]")
	if e.err != nil {
		return
	}
	doc := e.doc()
	list := doc.Root.Member("runArgs")
	if !slices.ContainsFunc(list.Elements, func(n *jsonc.Node) bool { return networkFlag.MatchString(n.Text) }) {
		e.apply(doc.AddElement(list, jsonc.Quote(networkArg+network)))
	}
}

// Join puts the container of a devcontainer.json into a network of the engine, unless it
// names one already. It is pure.
func Join(src []byte, network string) ([]byte, error) {
	e := &extender{src: src}
	if e.doc(); e.err == nil {
		e.join(network)
	}
	return e.src, e.err
}

// Leave takes out what Join adds. It is pure.
func Leave(src []byte, network string) []byte {
	doc, _ := jsonc.Parse("", src)
	if doc == nil {
		return src
	}
	list := doc.Root.Member("runArgs")
	if list == nil {
		return src
	}
	at := slices.IndexFunc(list.Elements, func(n *jsonc.Node) bool { return n.Text == networkArg+network })
	if at < 0 {
		return src
	}
	src, _ = jsonc.Apply(src, doc.RemoveElement(list, at))
	return src
}

// LayOver names a Compose file behind those that a devcontainer.json names, so that Compose
// lays it over them, user as that of sessions, where none is named, and workspace as the folder
// of the project in the container; "" = none. It is pure. The error wraps ErrExtend.
func LayOver(src []byte, file, user, workspace string) ([]byte, error) {
	e := &extender{src: src}
	doc := e.doc()
	if e.err != nil {
		return nil, e.err
	}
	switch n := doc.Root.Member("dockerComposeFile"); {
	case n == nil:
		e.fail("it names no Compose file", "")
	case n.Kind == jsonc.String:
		e.apply(jsonc.Replace(n, "["+jsonc.Quote(n.Text)+", "+jsonc.Quote(file)+"]"))
	case !slices.ContainsFunc(n.Elements, func(n *jsonc.Node) bool { return n.Text == file }):
		e.apply(doc.AddElement(n, jsonc.Quote(file)))
	}
	if user != "" {
		e.member("", "remoteUser", jsonc.Quote(user))
	}
	if e.err == nil && workspace != "" {
		e.apply(jsonc.Replace(e.doc().Root.Member("workspaceFolder"), jsonc.Quote(workspace)))
	}
	return e.src, e.err
}

// networkFlag is a run argument that names a network.
var networkFlag = regexp.MustCompile(`^--net(work)?(=|$)`)

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
