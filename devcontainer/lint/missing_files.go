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
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

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
	}
	seen := map[string]bool{}
	for _, r := range v.Of(rights.Installed) { // those that Features depend on, too
		if !rights.IsLocal(r.Name) || seen[r.Name] {
			continue
		}
		seen[r.Name] = true
		doc := v.FeatureMetadata(r.Name)
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
	return slices.Concat(out, filesOfInstalls(v), buildOfServiceMissing(v), sourcesMissing(v), filesOfServicesMissing(v))
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
	case isMissing(v, full) || foldersMissing(v, full) || isBeside(v, full):
		at := build
		if n := build.Get("dockerfile"); n != nil {
			at = n
		}
		hint := fmt.Sprintf("the context is the folder %s", shownFolder(v, folder))
		if best := nearest(path.Base(name), v.Tree.List(path.Dir(full))); best != "" {
			hint += fmt.Sprintf("; did you mean %s?", path.Join(path.Dir(name), best))
		}
		return []rule.Finding{rule.AtCompose(at, fmt.Sprintf("the build's context has no Dockerfile %s", name), hint)}
	}
	return nil
}

// isBeside reports whether a file that is not there lies in the folder above the one in which it is looked for, or beside it: a
// Dockerfile that is named from another folder than its context.
func isBeside(v *rule.View, full string) bool {
	return v.Tree.Kind(full) == devcontainer.Nothing && v.Tree.Kind(path.Join(path.Dir(path.Dir(full)), path.Base(full))) == devcontainer.File
}

// foldersMissing reports whether a folder above an entry is not there, in what is more than a dev container.
func foldersMissing(v *rule.View, full string) bool {
	top := path.Dir(full)
	for v.Tree.Kind(path.Dir(top)) == devcontainer.Nothing {
		top = path.Dir(top)
	}
	return isMissing(v, top) && isProject(v)
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
				out = append(out, rule.AtCompose(file, fmt.Sprintf("there is no file %s, which a service gets", file.String()),
					"make it, or let initializeCommand make it"))
			}
		}
	}
	return out
}

// makesNoneOfIts are programs that make no file on the host but those that their words name.
var makesNoneOfIts = []string{"docker", "podman", "echo", "true", ":", "test", "[", "mkdir", "touch", "chmod", "chown", "xhost", "git",
	"export", "printf", "cd", "id", "ls", "exit"}

// madeOnHost reports whether initializeCommand, which runs before anything is read, may make a file.
func madeOnHost(v *rule.View, name string) (may bool) {
	init := v.Root.Member("initializeCommand")
	if init == nil {
		return false
	}
	if rule.Once(v, "made on the host", mayMakeAny) {
		return true
	}
	init.Walk(func(n *jsonc.Node) { may = may || n.Kind == jsonc.String && strings.Contains(n.Text, path.Base(name)) })
	return may
}

// maxHostText bounds the text of initializeCommand in which names are looked for.
const maxHostText = 64 << 10

// mayMakeAny reports whether initializeCommand may make a file that it does not name.
func mayMakeAny(v *rule.View) (may bool) {
	init := v.Root.Member("initializeCommand")
	v.EachCommand(init, func(_ *jsonc.Node, cmd *shell.Command) { may = may || !cmd.Is(makesNoneOfIts...) })
	return may || init.End-init.Start > maxHostText
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
	if !ok || name == "" || strings.Contains(full, "${") || madeOnHost(v, name) {
		return nil
	}
	if v.Tree.Kind(full) == devcontainer.File || devcontainer.HasEntry(v.Tree, full) {
		return nil // SBX109 says what is there instead
	}
	hint := "it is looked for relative to this file"
	if other := meantFile(v, name, full); other != "" {
		hint += fmt.Sprintf(": did you mean %q?", other)
	}
	for _, entry := range v.Tree.List(path.Dir(full)) {
		if strings.EqualFold(entry, path.Base(full)) {
			hint = fmt.Sprintf("there is a %s: upper and lower case count", entry)
		}
	}
	if slashes := strings.ReplaceAll(name, `\`, "/"); slashes != name {
		if other, ok := v.Path(slashes); ok && v.Tree.Kind(other) == devcontainer.File {
			hint = "only Windows takes backslashes: write " + slashes
		}
	}
	return []rule.Finding{v.AtValue(n, fmt.Sprintf("there is no %s %q", what, name), hint)}
}

// meantFile returns the file that was probably meant by a name that leads nowhere, as the configuration writes it; "" for none. It is the
// file of that name beside the configuration or in the project's folder, or one of nearly that name that is not named besides.
func meantFile(v *rule.View, name, full string) string {
	dir, base := path.Split(full)
	for _, other := range []string{v.Dir, v.Home} {
		if at := path.Join(other, base); other != path.Clean(dir) && v.Tree.Kind(at) == devcontainer.File {
			return relativeTo(v, at)
		}
	}
	best := nearest(base, v.Tree.List(path.Clean(dir)))
	meant := path.Join(path.Dir(name), best)
	named := slices.ContainsFunc(rights.Texts(v.Root.Member("dockerComposeFile")), func(n *jsonc.Node) bool {
		return path.Clean(n.Text) == meant
	})
	if best == "" || named || v.Tree.Kind(path.Join(dir, best)) != devcontainer.File {
		return ""
	}
	return meant
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
