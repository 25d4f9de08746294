package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// objectMounts reports readonly where the reference CLI drops it.
func objectMounts(v *rule.View) (out []rule.Finding) {
	list := v.Root.Member("mounts")
	if list == nil {
		return nil
	}
	for _, n := range list.Elements {
		if n.Kind != jsonc.Object {
			continue
		}
		for _, m := range n.Members {
			if m.Name == "readonly" || m.Name == "ro" {
				out = append(out, v.AtName(m, "readonly is dropped from the object form: this mount is writable",
					`write the mount as text: "type=bind,source=…,target=…,readonly"`).FixedBy(mountAsText(n, m)))
			}
		}
	}
	return out
}

// mountAsText rewrites an object mount as the text that means what it says, or
// returns nothing when that needs the author.
func mountAsText(n *jsonc.Node, readonly jsonc.Member) []jsonc.Edit {
	fields := []string{}
	for _, name := range []string{"type", "source", "target"} {
		s, ok := n.Member(name).Str()
		if !ok || strings.ContainsAny(s, `,"`) {
			return nil
		}
		fields = append(fields, name+"="+s)
	}
	if len(n.Members) != 4 || readonly.Value.Kind != jsonc.Bool {
		return nil
	}
	if readonly.Value.Is(true) {
		fields = append(fields, "readonly")
	}
	return jsonc.Replace(n, jsonc.Quote(strings.Join(fields, ",")))
}

// mountKeys are the words of --mount: docker run's, and those that Podman adds.
var mountKeys = []string{"type", "source", "src", "target", "destination", "dst", "readonly", "ro", "rw", "consistency",
	"bind-propagation", "bind-nonrecursive", "bind-recursive", "bind-create-src", "volume-nocopy", "volume-driver", "volume-opt",
	"volume-label", "volume-subpath",
	"image-subpath", "image-path", "tmpfs-size", "tmpfs-mode", "relabel", "chown", "idmap", "subpath", "notmpcopyup", "tmpcopyup", "glob",
	"U", "Z", "z", "external"}

var mountTypes = []string{"bind", "volume", "tmpfs", "npipe", "cluster", "image", "glob", "ramfs", "devpts"}

// mountSyntax reports mounts in text form that end the start. For Compose the reference CLI writes SOURCE:TARGET and leaves the
// rest out; Compose replaces ~ and variables, and reads a source with a dot from its own folder.
func mountSyntax(v *rule.View) (out []rule.Finding) {
	list := rights.Texts(v.Root.Member("mounts"))
	if v.ByCompose() {
		for _, n := range list {
			if target := relativeTarget(n.Text); target != "" {
				out = append(out, v.AtValue(n, fmt.Sprintf("the engine refuses the target %s: it is no absolute path", target),
					"begin it with /, or with ${containerWorkspaceFolder}"))
			} else if rights.ParseMount(n.Text).ReadOnly {
				f := v.AtValue(n, "with Compose the reference CLI drops readonly: this mount is writable",
					"write it into the Compose file, under volumes of the service: SOURCE:TARGET:ro")
				f.Severity = diag.SeverityWarning
				out = append(out, f)
			}
		}
		return out
	}
	if n := v.EngineOnly("workspaceMount"); n != nil && n.Kind == jsonc.String && n.Text != "" {
		list = append(list, n)
	}
	for _, n := range list {
		if message, hint := mountText(n.Text); message != "" {
			out = append(out, v.AtValue(n, message, hint))
		} else if at := unreadBoolean.FindString(n.Text); at != "" {
			f := v.AtValue(n, fmt.Sprintf("Docker reads no yes or no in %s", strings.Trim(at, ",")),
				"write readonly without a value, or readonly=true")
			if rights.ParseMount(n.Text).Type != "bind" { // Podman takes it
				f.Severity = diag.SeverityWarning
			}
			out = append(out, f)
		}
	}
	return slices.Concat(out, objectSources(v), dottedSources(v), volumeNames(v),
		eachMount(v, targetWithMode, pathForVolume, rwOfPodman, slashedHomes))
}

// objectSources reports bind mounts in object form whose source the engine refuses.
func objectSources(v *rule.View) (out []rule.Finding) {
	list := v.Root.Member("mounts")
	if list == nil {
		return nil
	}
	for _, n := range list.Elements {
		if m, ok := rights.MountOf(n); ok && n.Kind == jsonc.Object && m.Type == "bind" {
			if message, hint := sourceRefused(m.Source); message != "" {
				out = append(out, v.AtValue(n, message, hint))
			}
		}
	}
	return out
}

// sourceRefused says what the engine does not take of a bind mount's source, or "".
func sourceRefused(source string) (message, hint string) {
	switch {
	case strings.HasPrefix(source, "~"):
		return "nothing replaces ~ here, and the engine refuses a source that is no absolute path", "write ${localEnv:HOME}"
	case relativeSource.MatchString(source):
		return fmt.Sprintf("the engine refuses the source %s: it is no absolute path", source), "begin it with ${localWorkspaceFolder}/"
	}
	return "", ""
}

// volumeName is what engines take as the name of a volume (moby, volume/local, and Podman, which takes one letter as well).
var volumeName = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)

// volumeNames reports names that no volume can have. A path has a finding of its own.
func volumeNames(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Mounts() {
		source := r.Mount.Source
		named := r.Notation == rights.Property && r.Mount.Type == "volume" && source != ""
		isPath := ofTheHost(source) || strings.ContainsAny(source, `"/\`)
		if !named || isPath || volumeName.MatchString(rights.Variable.ReplaceAllString(source, "xx")) {
			continue
		}
		out = append(out, rule.AtRight(r, fmt.Sprintf("the engine refuses the volume's name %q", source),
			"write letters, digits, _ . and -, and begin with a letter or a digit"))
	}
	return out
}

// dottedSources reports bind mounts of a folder that begins with a dot. Newer engines' programs read it from the folder in which
// the tool starts them, and older ones refuse it.
func dottedSources(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Mounts() {
		source, ok := strings.CutPrefix(r.Mount.Source, "./")
		if r.Notation != rights.Property || r.Mount.Type != "bind" || !ok && !strings.HasPrefix(r.Mount.Source, "../") && r.Mount.Source != "." {
			continue
		}
		f := rule.AtRight(r, fmt.Sprintf("%s is looked for in the folder in which the engine is started, and older engines refuse it",
			r.Mount.Source),
			fmt.Sprintf("write ${localWorkspaceFolder}/%s", source))
		f.Severity = diag.SeverityWarning
		out = append(out, f)
	}
	return out
}

// relativeTarget returns the target of a mount when it is no absolute path, of Windows neither.
func relativeTarget(text string) string {
	for field := range strings.SplitSeq(rights.Variable.ReplaceAllString(text, "/x"), ",") {
		key, value, _ := strings.Cut(field, "=")
		absolute := strings.HasPrefix(value, "/") || strings.HasPrefix(value, `\`) || len(value) > 1 && value[1] == ':' ||
			strings.Contains(value, "$")
		if slices.Contains([]string{"target", "destination", "dst"}, strings.ToLower(key)) && value != "" && !absolute {
			return value
		}
	}
	return ""
}

// mountText says what the engine does not understand of a mount, or "".
func mountText(text string) (message, hint string) {
	// Quotes and variables can hold commas; what is in them is not judged.
	plain := rights.Variable.ReplaceAllString(text, "x")
	if strings.Contains(plain, `"`) || strings.TrimSpace(text) == rights.Variable.FindString(text) {
		return "", ""
	}
	hasTarget, hasType, kind := false, false, "volume"
	for field := range strings.SplitSeq(plain, ",") {
		key, value, hasValue := strings.Cut(field, "=")
		switch {
		case !slices.Contains(mountKeys, key) && !slices.Contains(mountKeys, strings.ToLower(key)):
			hint = "accepted: type, source, target, readonly and what docker run --mount knows besides"
			if best := diag.Suggest(key, mountKeys); best != "" {
				hint = fmt.Sprintf("did you mean %q?", best)
			} else if strings.Contains(key, ":") {
				hint = `this is the form of -v; write "type=bind,source=…,target=…"`
			}
			return fmt.Sprintf("the engine does not know %q in a mount", key), hint
		case key == "type":
			kind, hasType = strings.ToLower(value), true
		}
		hasTarget = hasTarget || slices.Contains([]string{"target", "destination", "dst"}, strings.ToLower(key)) && hasValue && value != ""
	}
	if target := relativeTarget(text); target != "" {
		return fmt.Sprintf("the engine refuses the target %s: it is no absolute path", target),
			"begin it with /, or with ${containerWorkspaceFolder}"
	}
	source := rights.ParseMount(text).Source
	refused, instead := sourceRefused(source)
	switch {
	case !slices.Contains(mountTypes, kind) && kind != "x":
		return fmt.Sprintf("the engine knows no mount of type %q", kind), "accepted: bind, volume, tmpfs"
	case !hasTarget:
		return "the mount has no target", "add target= with a path in the container"
	case path.Clean(rights.ParseMount(text).Target) == "/":
		return "the engine refuses / as a target", "mount it below a folder of its own"
	case kind == "bind" && refused != "":
		return refused, instead
	case kind == "bind" && rights.ParseMount(plain).Source == "":
		return "the bind mount has no source", "add source= with a path of the host"
	case kind == "tmpfs" && rights.ParseMount(plain).Source != "":
		return "the engine refuses a tmpfs with a source", "leave source out: nothing of the host is mounted"
	case !hasType && ofTheHost(source):
		return fmt.Sprintf("a mount without a type is a volume, and the engine refuses %s as the name of one", source),
			"add type=bind to mount this folder of the host"
	}
	return "", ""
}

// unreadBoolean matches words that people take for a yes or a no, and Go's strconv.ParseBool does not.
var unreadBoolean = lazyregexp.New(`(^|,)(?i:ro|readonly)=(?i:yes|y|no|n|on|off)(,|$)`)

// relativeSource matches a path that begins with a name. Newer engines take one that begins with a dot; a drive
// of Windows has a colon.
var relativeSource = lazyregexp.New(`^[A-Za-z0-9_][^:$]*$`)

// ofTheHost reports whether a mount's source is a path, and so no name of a volume.
func ofTheHost(source string) bool {
	return slices.ContainsFunc([]string{"/", "./", "../", "~/", "${localEnv:HOME}", "${localWorkspaceFolder}"},
		func(start string) bool { return strings.HasPrefix(source, start) })
}

// duplicateTargets reports mounts that meet.
func duplicateTargets(v *rule.View) (out []rule.Finding) {
	seen := map[string]int{}
	for _, r := range v.Mounts() {
		if r.Mount.Target == "" {
			continue
		}
		target := path.Clean(r.Mount.Target)
		if line, ok := seen[target]; ok {
			out = append(out, rule.AtRight(r, fmt.Sprintf("%s is already the target of the mount on line %d", r.Mount.Target, line),
				"keep one of them"))
			continue
		}
		seen[target], _ = v.Config.Position(r.Place.Start)
	}
	return slices.Concat(out, eachMount(v, onTheWorkspace), projectCovered(v))
}
