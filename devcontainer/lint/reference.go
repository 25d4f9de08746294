package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/devcontainer/shell"
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

// workspaceUnopened reports a mount of the workspace in a folder that the editor does not open.
func workspaceUnopened(v *rule.View) []rule.Finding {
	n := v.Root.Member("workspaceMount")
	s, ok := n.Str()
	if !ok || s == "" || v.Root.Member("workspaceFolder") != nil || v.Root.Member("dockerComposeFile") != nil ||
		schema.Misspelt(v.Mismatches, v.Root, "workspaceFolder") {
		return nil
	}
	f := v.AtValue(n, "workspaceMount says where the files are, and nothing opens that folder",
		"add workspaceFolder with the target of the mount")
	if m := rights.ParseMount(s); strings.HasPrefix(m.Target, "/") {
		f.Edits = v.Config.AddMember(v.Root, "workspaceFolder", jsonc.Quote(m.Target))
	}
	return []rule.Finding{f}
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
			f := v.AtValue(n, fmt.Sprintf("Docker reads no yes or no in %s", strings.Trim(at, ",")), "write readonly alone, or readonly=true")
			if rights.ParseMount(n.Text).Type != "bind" { // Podman takes it
				f.Severity = diag.SeverityWarning
			}
			out = append(out, f)
		}
	}
	return append(out, dottedSources(v)...)
}

// dottedSources reports bind mounts of a folder that begins with a dot. Newer engines' programs read it from the folder in which
// the tool starts them, and older ones refuse it.
func dottedSources(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Mounts() {
		source, ok := strings.CutPrefix(r.Mount.Source, "./")
		if r.Notation != rights.Property || r.Mount.Type != "bind" || !ok && !strings.HasPrefix(r.Mount.Source, "../") {
			continue
		}
		f := rule.AtRight(r, fmt.Sprintf("whichever folder the engine is started in has %s, and older engines refuse it", r.Mount.Source),
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
	switch {
	case !slices.Contains(mountTypes, kind) && kind != "x":
		return fmt.Sprintf("the engine knows no mount of type %q", kind), "accepted: bind, volume, tmpfs"
	case !hasTarget:
		return "the mount has no target", "add target= with a path in the container"
	case path.Clean(rights.ParseMount(text).Target) == "/":
		return "the engine refuses / as a target", "mount it below a folder of its own"
	case kind == "bind" && strings.HasPrefix(rights.ParseMount(text).Source, "~"):
		return "nothing replaces ~ here, and the engine refuses a source that is no absolute path", "write ${localEnv:HOME}"
	case kind == "bind" && relativeSource.MatchString(rights.ParseMount(text).Source):
		return fmt.Sprintf("the engine refuses the source %s: it is no absolute path", rights.ParseMount(text).Source),
			"begin it with ${localWorkspaceFolder}/"
	case kind == "bind" && rights.ParseMount(plain).Source == "":
		return "the bind mount has no source", "add source= with a path of the host"
	case !hasType && ofTheHost(rights.ParseMount(text).Source):
		return "without a type this is a volume, and no volume has a path for its name", "add type=bind"
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

// filesMissing reports names that lead nowhere.
func filesMissing(v *rule.View) (out []rule.Finding) {
	if v.Tree == nil {
		return nil
	}
	for _, n := range []*jsonc.Node{v.Root.Member("build").Member("dockerfile"), v.Root.Member("dockerFile")} {
		out = append(out, fileMissing(v, n, "Dockerfile")...)
	}
	for _, n := range rights.Texts(v.Root.Member("dockerComposeFile")) {
		out = append(out, fileMissing(v, n, "Compose file")...)
	}
	for _, n := range []*jsonc.Node{v.Root.Member("build").Member("context"), v.Root.Member("context")} {
		out = append(out, contextMissing(v, n)...)
	}
	for _, f := range localFeatures(v) {
		switch {
		case f.outside:
			out = append(out, v.AtName(f.Member, fmt.Sprintf("the local Feature %s lies outside .devcontainer", f.Name),
				"the reference CLI refuses it; move it below .devcontainer"))
		case !f.known:
			out = append(out, v.AtName(f.Member, fmt.Sprintf("there is no Feature in %s", f.Name),
				"the folder must hold a devcontainer-feature.json"))
		}
		doc := v.FeatureMetadata(f.Name)
		if doc == nil {
			continue
		}
		for _, m := range doc.Root.Member("dependsOn").Fields() {
			if rights.IsLocal(m.Name) && v.FeatureMetadata(m.Name) == nil {
				out = append(out, rule.Finding{Place: rights.Place{Doc: doc, Start: m.NameStart, End: m.NameEnd, Pointer: m.Value.Pointer},
					Message: fmt.Sprintf("there is no Feature in %s", m.Name), Hint: "it is looked for relative to the devcontainer.json"})
			}
		}
	}
	for _, u := range unreadFiles(v) {
		if u.missing {
			out = append(out, u.Finding)
		}
	}
	return slices.Concat(out, buildOfServiceMissing(v), sourcesMissing(v), filesOfServicesMissing(v))
}

// buildOfServiceMissing reports what the dev container's service builds and what is not there.
func buildOfServiceMissing(v *rule.View) []rule.Finding {
	dev := v.Composed.Dev()
	if dev == nil {
		return nil
	}
	context, name, _, ok := dev.Build()
	build := dev.Get("build")
	elsewhere := remoteSource.MatchString(context) || path.IsAbs(context) || path.IsAbs(name)
	if !ok || elsewhere || build.Get("dockerfile_inline") != nil || strings.ContainsAny(context+name, "$:~") ||
		v.Root.Member("initializeCommand") != nil { // which may make them
		return nil
	}
	folder := path.Join(v.Dir, path.Dir(v.Composed.First), context)
	switch full := path.Join(folder, name); {
	case devcontainer.LeavesTree(full) || devcontainer.LeavesTree(folder):
		return nil
	case v.Tree.Kind(folder) == devcontainer.Nothing:
		at := build
		if n := build.Get("context"); n != nil {
			at = n
		}
		return []rule.Finding{rule.AtCompose(at, fmt.Sprintf("there is no folder %s for the build", context),
			"it is looked for relative to this file")}
	case isMissing(v, full):
		at := build
		if n := build.Get("dockerfile"); n != nil {
			at = n
		}
		return []rule.Finding{rule.AtCompose(at, fmt.Sprintf("the build's context has no Dockerfile %s", name),
			fmt.Sprintf("the context is the folder %s", shownFolder(v, folder)))}
	}
	return nil
}

// sourcesMissing reports bind mounts and files of variables of the project that are not there: the engine refuses
// to start. A command of the host may make them.
func sourcesMissing(v *rule.View) (out []rule.Finding) {
	if v.ByCompose() || v.Root.Member("initializeCommand") != nil {
		return nil
	}
	const hint = "make it, or let initializeCommand make it: a clone of the project lacks it"
	missing := func(p rights.HostPath) bool { // git makes its own files
		return p.Base == "workspace" && !p.Leaves() && !p.Is(".git") && !strings.Contains(p.Path, "$") &&
			isMissing(v, path.Join(v.Home, p.Path))
	}
	for _, r := range v.Mounts() {
		if from := rights.Origin(r.Mount.Source); r.Mount.Type == "bind" && r.Mount.Target != "" && missing(from) {
			out = append(out, rule.AtRight(r, fmt.Sprintf("there is no %s to mount, and the engine refuses to start without it", from.Path), hint))
		}
	}
	for _, r := range v.Of(rights.SecurityOpt) {
		name, ok := strings.CutPrefix(r.Value, "seccomp=")
		if from := rights.Origin(name); ok && missing(from) {
			out = append(out, rule.AtRight(r, fmt.Sprintf("there is no file %s, and the engine refuses to start without it", from.Path), hint))
		}
	}
	for _, r := range v.Of(rights.EnvFile) {
		from := rights.Origin(r.Value)
		if from.Base == "" && r.Notation == rights.Option {
			from.Base = "workspace" // where the reference CLI starts the engine's program
		}
		if missing(from) {
			out = append(out, rule.AtRight(r, fmt.Sprintf("there is no file %s, and the engine refuses to start without it", from.Path), hint))
		}
	}
	return out
}

// filesOfServicesMissing reports files that services of Compose get, and that are not there: of secrets and configs,
// of seccomp, and those that the engine would make a folder of.
func filesOfServicesMissing(v *rule.View) (out []rule.Finding) {
	if v.Composed == nil || !v.ByCompose() || v.Root.Member("initializeCommand") != nil {
		return nil
	}
	folder := path.Join(v.Dir, path.Dir(v.Composed.First))
	gone := func(name string) bool {
		full := path.Join(folder, name)
		return name != "" && !path.IsAbs(name) && !strings.ContainsAny(name, "$~:\\") && !devcontainer.LeavesTree(full) && isMissing(v, full)
	}
	started := map[string]bool{} // secrets and configs that a service gets
	for _, s := range v.Composed.Project.Services() {
		if s.Get("profiles") != nil {
			continue
		}
		for _, key := range []string{"secrets", "configs"} {
			for _, item := range s.Get(key).Scalars() {
				started[key+" "+item.Text] = true
			}
		}
		for _, n := range s.Get("security_opt").Scalars() {
			name, ok := strings.CutPrefix(strings.Replace(n.Text, "=", ":", 1), "seccomp:")
			if ok && name != "unconfined" && gone(name) {
				out = append(out, rule.AtCompose(n, fmt.Sprintf("there is no file %s, and Compose refuses to start without it", name),
					"it is looked for relative to this file"))
			}
		}
		for _, n := range s.Get("volumes").Scalars() {
			parts := compose.SplitVolume(n.Text)
			if len(parts) > 1 && path.Ext(parts[0]) != "" && path.Ext(parts[0]) == path.Ext(parts[1]) && strings.HasPrefix(parts[0], ".") &&
				gone(parts[0]) {
				f := rule.AtCompose(n, fmt.Sprintf("there is no file %s, so the engine makes a folder of that name", parts[0]),
					"make the file, or leave the mount out")
				f.Severity = diag.SeverityWarning
				out = append(out, f)
			}
		}
	}
	for _, key := range []string{"secrets", "configs"} {
		root := v.Composed.Project.Root.Get(key)
		if root == nil {
			continue
		}
		for _, m := range root.Members {
			if file := m.Value.Get("file"); started[key+" "+m.Name] && gone(file.String()) {
				out = append(out, rule.AtCompose(file, fmt.Sprintf("there is no file %s, and a service gets it", file.String()),
					"make it, or let initializeCommand make it"))
			}
		}
	}
	return out
}

// localFolder is a Feature that the configuration names by its folder.
type localFolder struct {
	jsonc.Member
	outside bool // of .devcontainer
	known   bool // its metadata is there
}

func localFeatures(v *rule.View) (out []localFolder) {
	list := v.Root.Member("features")
	if list == nil || list.Kind != jsonc.Object || v.Tree == nil {
		return nil
	}
	for _, m := range list.Members {
		if !rights.IsLocal(m.Name) {
			continue
		}
		full, ok := v.Path(m.Name)
		folder := path.Join(v.Home, ".devcontainer")
		inside := ok && (full == folder || strings.HasPrefix(full, folder+"/"))
		out = append(out, localFolder{m, !inside, inside && v.Tree.Kind(path.Join(full, devcontainer.FeatureName)) == devcontainer.File})
	}
	return out
}

func fileMissing(v *rule.View, n *jsonc.Node, what string) []rule.Finding {
	name, _ := n.Str()
	full, ok := v.Path(name)
	if !ok || name == "" || strings.Contains(full, "${") {
		return nil
	}
	if v.Tree.Kind(full) == devcontainer.File || devcontainer.HasEntry(v.Tree, full) {
		return nil // SBX109 says what is there instead
	}
	hint := "it is looked for relative to this file"
	for _, entry := range v.Tree.List(path.Dir(full)) {
		if strings.EqualFold(entry, path.Base(full)) {
			hint = fmt.Sprintf("there is a %s: upper and lower case count", entry)
		}
	}
	return []rule.Finding{v.AtValue(n, fmt.Sprintf("there is no %s %q", what, name), hint)}
}

// contextMissing reports a build context that is no folder.
func contextMissing(v *rule.View, n *jsonc.Node) []rule.Finding {
	name, ok := n.Str()
	full, inside := v.Path(name)
	named := ok && name != "" && inside && full != "."
	if !named || v.ByCompose() || v.Tree.Kind(full) == devcontainer.Folder || devcontainer.HasEntry(v.Tree, full) {
		return nil
	}
	return []rule.Finding{v.AtValue(n, fmt.Sprintf("there is no folder %q for the build", name),
		"the context is looked for relative to this file; .. is the project's folder from .devcontainer")}
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
	return out
}

var (
	shellWord = lazyregexp.New(`^(&&|\|\|?|;|>>?|<)$`)
	shellLine = lazyregexp.New(`\s(&&|\|\|?|>>?)\s|;\s|\s`)
)

// onlyInShells are words of shells that do nothing as programs of their own.
var onlyInShells = []string{"cd", "source", ".", "export", "set", "unset", "eval", "pushd", "popd", "shopt"}

// arrayCommands reports arrays that were meant for a shell.
func arrayCommands(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Of(rights.HostCommand, rights.Hook) {
		if r.Notation != rights.Property {
			continue
		}
		if r.Node.Kind == jsonc.Object {
			for _, m := range r.Node.Members {
				out = append(out, arrayCommand(v, m.Value)...)
			}
			continue
		}
		out = append(out, arrayCommand(v, r.Node)...)
	}
	if v.Kind() == devcontainer.ConfigFile {
		out = append(out, linesToStart(v)...)
	}
	return out
}

// isShellLine reports whether a word is a line for a shell: no path, and nothing that is
// filled in later.
func isShellLine(word string) bool {
	return shellLine.MatchString(strings.TrimSpace(word)) && !strings.ContainsAny(word, "/$")
}

// linesToStart reports a first process whose program is a whole line: ["sleep infinity"].
func linesToStart(v *rule.View) (out []rule.Finding) {
	entrypoint, command := v.Start()
	out = operatorsToStart(v)
	first := entrypoint
	if len(first.Words) == 0 {
		first = command
	}
	written := first.Notation == rights.Compose || first.Notation == rights.Dockerfile
	if !written || first.Next || len(first.Words) != 1 || !isShellLine(first.Words[0]) {
		return out
	}
	return append(out, rule.AtRight(first, fmt.Sprintf("this starts a program called %q", first.Words[0]),
		"write it without the brackets, or one word per element"))
}

// operatorsToStart reports operators of a shell among the words of a service's command, which no shell reads.
func operatorsToStart(v *rule.View) (out []rule.Finding) {
	dev := v.Composed.Dev()
	if dev == nil || !v.ByCompose() || v.Root.Member("overrideCommand").Is(true) {
		return nil
	}
	for _, key := range []string{"entrypoint", "command"} {
		n := dev.Get(key)
		words := n.Words()
		at := slices.IndexFunc(words, func(w string) bool { return w == "&&" || w == "||" || w == "|" || w == ";" })
		if at < 1 || slices.Contains(shell.Shells, path.Base(words[0])) || key == "command" && len(dev.Get("entrypoint").Words()) > 0 {
			continue
		}
		out = append(out, rule.AtCompose(n, fmt.Sprintf("%q is a word to %s, not the shell's", words[at], words[0]),
			`write ["sh", "-c", "…"]`))
	}
	return out
}

func arrayCommand(v *rule.View, n *jsonc.Node) []rule.Finding {
	words := rights.Texts(n)
	if n.Kind != jsonc.Array || len(words) == 0 || len(words) != len(n.Elements) {
		return nil
	}
	if len(words) == 1 && shellLine.MatchString(strings.TrimSpace(words[0].Text)) {
		return []rule.Finding{v.AtValue(n, fmt.Sprintf("this starts a program called %q", jsonc.Abbreviate(words[0].Text)),
			"write it as a string, or one word per element").FixedBy(jsonc.Replace(n, string(v.Config.Src[words[0].Start:words[0].End])))}
	}
	line := strings.TrimSpace(words[0].Text)
	if slices.Contains(onlyInShells, line) {
		return []rule.Finding{v.AtValue(words[0], fmt.Sprintf("%s is a word of the shell, and this array starts a program of that name", line),
			"write the command as one string; what it sets ends with its shell")}
	}
	program, _, more := strings.Cut(line, " ")
	severalLines := !strings.Contains(line, "/") &&
		slices.ContainsFunc(words[1:], func(w *jsonc.Node) bool { return strings.Contains(strings.TrimSpace(w.Text), " ") })
	if more && (slices.Contains(shell.Shells, program) || severalLines) {
		return []rule.Finding{v.AtValue(n, fmt.Sprintf("this starts one program, called %q", jsonc.Abbreviate(line)),
			`an array is one command; write several as one text with &&, or as an object: {"NAME": "…", "OTHER": "…"}`).
			Offering(jsonc.Replace(n, jsonc.Quote(joined(words))))}
	}
	for _, w := range words[1:] {
		if shellWord.MatchString(w.Text) {
			return []rule.Finding{v.AtValue(w, fmt.Sprintf("%q is a word to the program, not the shell's", w.Text),
				`write the command as one string, or as ["sh", "-c", "…"]`)}
		}
	}
	return wordsForAShell(v, words)
}

// wholeVariable matches a word that begins with a variable of a shell. The CLI replaces none of them.
var wholeVariable = lazyregexp.New(`^\$(HOME|USER|PWD|PATH|UID|\{(HOME|USER|PWD|PATH|UID)\})(/|$)`)

// plainReaders are programs that get such a word as a path or a text, and hand it to no shell.
var plainReaders = append(slices.Clone(plainPrograms), "ls", "tar", "unzip", "pip", "pip3", "npm", "python", "python3", "node")

// wordsForAShell reports a word of an array that only a shell would replace.
func wordsForAShell(v *rule.View, words []*jsonc.Node) []rule.Finding {
	if !slices.Contains(plainReaders, words[0].Text) || len(words) > 1 && strings.HasSuffix(words[1].Text, "c") {
		return nil
	}
	for _, w := range words[1:] {
		if at := wholeVariable.FindString(w.Text); at != "" {
			return []rule.Finding{v.AtValue(w, fmt.Sprintf("no shell replaces %s in an array: the program gets the text as it is",
				strings.TrimSuffix(at, "/")), `write the command as one string, or as ["sh", "-c", "…"]`)}
		}
	}
	return nil
}

// joined is one text of several commands, of which each runs if those before it succeed.
func joined(commands []*jsonc.Node) string {
	var texts []string
	for _, c := range commands {
		texts = append(texts, strings.TrimSpace(c.Text))
	}
	return strings.Join(texts, " && ")
}

// isShadowed reports whether tools do not reach the configuration, because another one comes first.
func isShadowed(v *rule.View) bool {
	if v.Root == nil || v.Tree == nil || v.InFolder() {
		return false
	}
	atTop := v.Dir == v.Home && path.Base(v.Config.File) == ".devcontainer.json"
	return atTop && v.Tree.Kind(path.Join(v.Home, ".devcontainer", "devcontainer.json")) == devcontainer.File
}

// shadowed reports such a configuration.
func shadowed(v *rule.View) []rule.Finding {
	if !isShadowed(v) {
		return nil
	}
	return []rule.Finding{v.AtMissing(nil, ".devcontainer/devcontainer.json comes first, and this file is not read",
		"keep one of the two, or move this one to .devcontainer/NAME/devcontainer.json")}
}
