package org

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Policy is an organisation's policy: what its configurations may hold. Each part
// has up to three lists: allow names all that may be there, forbid what may
// not, require what must.
//
//	registries    images and Features by where they come from: HOST/PATH
//	features      Features, by id without version or by its last part
//	capabilities  what capAdd, runArgs and cap_add add
//	extensions    of VS Code, PUBLISHER.NAME
//	mounts        sources on the host: /PATH, ~/PATH, and .. for the folder that the project lies in
//	properties    top-level names of devcontainer.json
//	rules         rules of validate that nothing in a project switches off or lowers
//
// A * in an entry stands for anything but a slash.
type Policy struct{ doc *jsonc.Document }

// Parse reads a policy. It is nil when a finding is an error.
func Parse(file string, src []byte) (*Policy, []diag.Finding) {
	doc, findings := jsonc.Parse(file, src)
	for _, m := range schema.Policy(doc) {
		findings = append(findings, doc.Finding(m.Start, m.End, diag.Finding{Rule: m.Rule, Severity: diag.SeverityError, Pointer: m.Pointer,
			Message: m.Message, Hint: m.Hint}))
	}
	policy := &Policy{doc}
	if diag.Worst(findings, diag.SeverityError) == 0 {
		findings = append(findings, policy.unknown()...)
	}
	diag.Sort(findings)
	if diag.Worst(findings, diag.SeverityError) > 0 {
		return nil, findings
	}
	return policy, findings
}

// unknown reports entries that name what does not exist, or that nothing can match: they would never be found, which looks like a clean
// run.
func (o *Policy) unknown() (findings []diag.Finding) {
	for _, part := range []struct {
		name  string
		check func(entry string) (message, hint string)
	}{
		{"registries", func(entry string) (string, string) { return idlePlace(entry, false) }},
		{"features", func(entry string) (string, string) { return idlePlace(entry, true) }},
		{"extensions", idleExtension}, {"mounts", idleFolder},
		{"properties", func(name string) (string, string) {
			if first, _, below := strings.Cut(name, "."); below && schema.IsProperty(first) {
				return fmt.Sprintf("%q matches nothing: a policy knows properties at the top level alone", name), fmt.Sprintf("write %q", first)
			}
			return missing(name, "property", schema.IsProperty(name), schema.Known(name))
		}},
		{"capabilities", func(name string) (string, string) {
			name = rights.CapabilityName(name)
			return missing(name, "capability", slices.Contains(capabilities, name), diag.Suggest(name, capabilities))
		}},
	} {
		for _, list := range []string{"allow", "forbid", "require"} {
			for _, n := range o.Entries(part.name, list) {
				message, hint := part.check(n.Text)
				if _, err := path.Match(n.Text, ""); message == "" && err != nil {
					message, hint = fmt.Sprintf("%q matches nothing: a bracket is open", n.Text), "* is the sign that stands for any"
				}
				if message != "" {
					f := diag.Finding{Rule: "SBX203", Severity: diag.SeverityError, Pointer: n.Pointer, Message: message, Hint: hint}
					findings = append(findings, o.doc.Finding(n.Start, n.End, f))
				}
			}
		}
	}
	return findings
}

// missing says that something does not exist, unless it is known.
func missing(name, what string, known bool, best string) (message, hint string) {
	if known {
		return "", ""
	}
	if best != "" {
		hint = fmt.Sprintf("did you mean %q?", best)
	}
	return fmt.Sprintf("there is no %s %q", what, name), hint
}

// idlePlace says why an entry of registries or features matches nothing, "" when it may match. One part alone is a host, or a Feature.
func idlePlace(entry string, feature bool) (message, hint string) {
	bare := strings.TrimSpace(entry)
	if _, rest, ok := strings.Cut(bare, "://"); ok {
		bare = rest
	}
	parts := slices.DeleteFunc(strings.Split(bare, "/"), func(part string) bool { return part == "" })
	if len(parts) == 0 {
		return "an entry is empty", "name a registry or a Feature, or leave it out"
	}
	if last := len(parts) - 1; last > 0 || feature || strings.Contains(parts[0], "@") {
		parts[last], _, _ = rights.SplitImage(parts[last])
	}
	if bare = strings.Join(parts, "/"); bare != strings.Trim(entry, "/") {
		return fmt.Sprintf("%q matches nothing: an entry has neither scheme, version nor blanks", entry), fmt.Sprintf("write %q", bare)
	}
	switch host := parts[0]; {
	case feature, strings.ContainsAny(host, ".:*"), host == "localhost":
		if oneHost(host) == "hub.docker.com" {
			return fmt.Sprintf("%q matches nothing: images of Docker Hub come from docker.io", entry), `write "docker.io/…"`
		}
		return "", ""
	}
	if len(parts) == 1 {
		return fmt.Sprintf("%q matches nothing: an entry begins with a host", entry), fmt.Sprintf("write \"docker.io/%s\" for a "+
			"namespace of Docker Hub, \"docker.io/library/%s\" for an image of its own", bare, bare)
	}
	return fmt.Sprintf("%q matches nothing: an entry begins with a host", entry), fmt.Sprintf("write \"docker.io/%s\" for Docker Hub's", bare)
}

var extension = regexp.MustCompile(`^[^.\s/@-][^.\s/@]*\.[^\s/@]+$`)

// idleExtension does it for extensions.
func idleExtension(entry string) (message, hint string) {
	switch {
	case entry == "*" || extension.MatchString(entry):
		return "", ""
	case strings.ContainsAny(entry, ".@ /-"):
		hint = "write PUBLISHER.NAME without a version; * stands for any"
	default:
		hint = fmt.Sprintf("write %q for all of a publisher", entry+".*")
	}
	return fmt.Sprintf("%q matches nothing: an extension is PUBLISHER.NAME", entry), hint
}

var homeVariable = regexp.MustCompile(`^\$(?:HOME|\{(?:(?:localEnv|env):)?HOME\})`)

// idleFolder does it for mounts.
func idleFolder(entry string) (message, hint string) {
	absolute := strings.HasPrefix(entry, "/") || entry == "~" || strings.HasPrefix(entry, "~/")
	switch {
	case entry == "..":
		return "", ""
	case absolute && !strings.ContainsAny(entry, "$,:") && strings.TrimSpace(entry) == entry:
		return "", ""
	case homeVariable.MatchString(entry):
		hint = fmt.Sprintf("write %q", homeVariable.ReplaceAllString(entry, "~"))
	default:
		hint = "an entry is a folder of the host, without target, options, variables and blanks around it"
	}
	return fmt.Sprintf("%q matches nothing: it is neither /PATH nor ~/PATH nor \"..\"", entry), hint
}

// capabilities are those of Linux (capabilities(7)), and the word for all of them.
var capabilities = strings.Fields(`ALL AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE
	DAC_READ_SEARCH FOWNER FSETID IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE MAC_ADMIN MAC_OVERRIDE MKNOD NET_ADMIN
	NET_BIND_SERVICE NET_BROADCAST NET_RAW PERFMON SETFCAP SETGID SETPCAP SETUID SYSLOG SYS_ADMIN SYS_BOOT SYS_CHROOT SYS_MODULE
	SYS_NICE SYS_PACCT SYS_PTRACE SYS_RAWIO SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG WAKE_ALARM`)

// Read reads the policy in a file. One that is not valid is an error: it would check
// nothing, which must not look like a clean run.
func Read(file string) (*Policy, error) {
	if filekind.IsFolder(file) {
		return nil, &fs.PathError{Op: "read", Path: file, Err: syscall.EISDIR}
	}
	src, err := filekind.Read(file, jsonc.MaxSize)
	if err != nil {
		return nil, err
	}
	return Load(file, src)
}

// Load is Read for a text that is at hand. file is only quoted.
func Load(file string, src []byte) (*Policy, error) {
	policy, findings := Parse(file, src)
	if err := allErrors(findings); err != nil {
		return nil, diag.OrHint(fmt.Errorf("the policy is not valid: %w", err),
			"'sbx-devc validate --help' names the page with the form of a policy")
	}
	return policy, nil
}

// allErrors is the first error with the lines of the others; nil when there is none.
func allErrors(findings []diag.Finding) error {
	err, more := diag.FirstError(findings), ""
	for i, f := range slices.DeleteFunc(slices.Clone(findings), func(f diag.Finding) bool { return f.Severity != diag.SeverityError }) {
		if i > 0 {
			more += fmt.Sprintf("\n  %s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
			if f.Hint != "" {
				more += ": " + f.Hint
			}
		}
	}
	if more == "" {
		return err
	}
	return fmt.Errorf("%w%s", err, more)
}

// Entries returns one of the policy's lists; none when there is no policy.
func (o *Policy) Entries(part, list string) []*jsonc.Node {
	if o == nil {
		return nil
	}
	return rights.Texts(o.doc.Root.Member(part).Member(list))
}

// Rules returns the rules that nothing in a project may switch off or lower, as the policy
// words them, each with the least severity, or "on" for the rule's own.
func (o *Policy) Rules() []jsonc.Member {
	if o == nil {
		return nil
	}
	return o.doc.Root.Member("rules").Fields()
}

// AtName quotes the place of a member's name.
func (o *Policy) AtName(m jsonc.Member) string {
	line, column := o.doc.Position(m.NameStart)
	return fmt.Sprintf("%s:%d:%d", o.doc.File, line, column)
}

// At quotes the place of an entry, or of a list.
func (o *Policy) At(n *jsonc.Node) string {
	line, column := o.doc.Position(n.Start)
	return fmt.Sprintf("%s:%d:%d", o.doc.File, line, column)
}

// forbidden begins why something may not be there that an entry names.
const forbidden = "the policy forbids "

// Judge says whether something may be there: "" or why not, and which place of
// the policy says so.
func (o *Policy) Judge(part string, match func(entry string) bool) (why, where string) {
	return o.Compare(part, match, match)
}

// Compare is Judge where the list of what is allowed takes names otherwise than that of what is forbidden.
func (o *Policy) Compare(part string, forbids, allows func(entry string) bool) (why, where string) {
	for _, n := range o.Entries(part, "forbid") {
		if forbids(n.Text) {
			return forbidden + n.Text, o.At(n) + " forbids it"
		}
	}
	if o == nil {
		return "", ""
	}
	allow := o.doc.Root.Member(part).Member("allow")
	if allow == nil {
		return "", ""
	}
	for _, n := range rights.Texts(allow) {
		if allows(n.Text) {
			return "", ""
		}
	}
	return "it is not among what the policy allows", o.At(allow) + " lists what is allowed"
}

// dockerHub are the hosts that are one registry.
var dockerHub = []string{"index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"}

// secure matches the port that HTTPS has without a word.
var secure = regexp.MustCompile(`:0*443$`)

// oneHost writes a registry in one of its ways.
func oneHost(name string) string {
	host, rest, slash := strings.Cut(name, "/")
	host = strings.TrimSuffix(secure.ReplaceAllString(host, ""), ".")
	if slices.Contains(dockerHub, host) {
		host = "docker.io"
	}
	if !slash {
		return host
	}
	if below, ok := strings.CutPrefix(rest, "devcontainers-contrib"); ok && (below == "" || below[0] == '/') {
		rest = "devcontainers-extra" + below // where the reference CLI goes for it
	}
	return host + "/" + rest
}

// RegistryMatch compares whole parts of a name, so that ghcr.io/acme is not
// ghcr.io/acme-evil.
func RegistryMatch(entry, name string) bool {
	entry, name = oneHost(strings.ToLower(strings.Trim(entry, "/"))), oneHost(strings.ToLower(name))
	want, have := strings.Split(entry, "/"), strings.Split(name, "/")
	if len(want) > len(have) {
		return false
	}
	for i := range want {
		if ok, err := path.Match(want[i], have[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

// PathMatch reports whether a path is an entry or lies below it. An absolute
// path and one below the home folder are never the same.
func PathMatch(entry, name string) bool {
	entry, name = path.Clean(entry), path.Clean(name)
	if path.IsAbs(entry) != path.IsAbs(name) {
		return false
	}
	want, have := strings.Split(strings.Trim(entry, "/"), "/"), strings.Split(strings.Trim(name, "/"), "/")
	if entry == "/" {
		return true
	}
	for i := range want {
		if i >= len(have) {
			return false
		}
		if ok, err := path.Match(want[i], have[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

// imagePlace is where an image comes from, in the form of an entry of registries.
func imagePlace(name string) string {
	full := oneHost(rights.RegistryName(name))
	if rest, ok := strings.CutPrefix(full, "docker.io/"); ok && !strings.Contains(rest, "/") {
		return "docker.io/library/" + rest
	}
	return full
}

// TemplateOption matches an option of a Template, which is judged with each of its values.
var TemplateOption = regexp.MustCompile(`\$\{templateOption:\s*\w+\s*\}`)

// Image judges one image by its name: "" or why it is refused. A name that depends on
// a variable can be anything, which a list of what is allowed does not allow; what stands
// before the variable may be forbidden.
func (o *Policy) Image(name string) (why, where string) {
	switch {
	case name == "" || name == "scratch" || TemplateOption.MatchString(name):
		return "", ""
	case strings.Contains(name, "$"):
		before, _, _ := strings.Cut(name, "$")
		first, _, tag := strings.Cut(before, ":")
		certain := strings.Contains(before, "/") || tag && !strings.Contains(first, ".") // else it may become a host
		known := func(e string) bool { return certain && RegistryMatch(e, imagePlace(before+"_")) }
		switch why, where = o.Judge("registries", known); {
		case why != "" && strings.HasPrefix(why, forbidden):
			return fmt.Sprintf("the image %s: %s", name, why), where
		case why != "":
			return fmt.Sprintf("the image %s depends on a variable, so it may come from anywhere", name), where
		}
		return "", ""
	}
	full := imagePlace(name)
	if why, where = o.Judge("registries", func(e string) bool { return RegistryMatch(e, full) }); why != "" {
		why = fmt.Sprintf("the image %s: %s", name, why)
	}
	return why, where
}
