package lint

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// basename is the variable for the name of the project's folder.
const basename = "${localWorkspaceFolderBasename}"

// systems are folders at the root of images, below which an image may have others, such as
// /home/node, /go and /var/www/html.
var systems = []string{"root", "home", "tmp", "opt", "srv", "usr", "var", "mnt", "media", "etc", "run", "go"}

// workspaceElsewhere reports a workspaceFolder that is not where the project is.
func workspaceElsewhere(v *rule.View) []rule.Finding {
	n := v.Root.Member("workspaceFolder")
	folder, ok := n.Str()
	if !ok || folder == "" || schema.Misspelt(v.Mismatches, v.Root, "workspaceMount") {
		return nil
	}
	switch {
	case otherVariable(folder):
		return nil
	case !path.IsAbs(folder):
		f := v.AtValue(n, fmt.Sprintf("workspaceFolder %q is no absolute path", folder),
			"write the folder as the container sees it, such as /workspaces/"+basename)
		f.Severity = diag.SeverityError
		return []rule.Finding{f}
	}
	if strings.HasSuffix(folder, ".code-workspace") && len(v.Of(rights.Hook)) > 0 { // which the engine would start in it
		f := v.AtValue(n, fmt.Sprintf("%s is a file, and no hook starts in it", path.Base(folder)),
			"name its folder; the editor offers the file when it opens that")
		f.Severity = diag.SeverityError
		return []rule.Finding{f}
	}
	if missing := openedMissing(v, n, folder); missing != nil {
		return missing
	}
	if v.ByCompose() {
		return serviceWithoutProject(v, n, folder)
	}
	if v.Root.Member("image") == nil && v.Dockerfile == nil {
		return nil
	}
	target, hint := "/workspaces/"+basename, fmt.Sprintf("leave workspaceFolder out, or add "+
		`"workspaceMount": "type=bind,source=${localWorkspaceFolder},target=%s"`, folder)
	if mount := v.Root.Member("workspaceMount"); mount != nil {
		text, ok := mount.Str()
		if !ok || text == "" { // nothing is mounted: the files come by another way
			return nil
		}
		target, hint = rights.ParseMount(text).Target, "use the target of workspaceMount, or a folder below it"
	}
	if target == "" || otherVariable(target) || meet(folder, target) || mounted(folder, v.Mounts()) {
		return nil
	}
	f := v.AtValue(n, fmt.Sprintf("the project is mounted at %s, not at %s", target, folder), hint)
	if top, _, _ := strings.Cut(path.Clean(folder)[1:], "/"); v.Build == nil && !slices.Contains(systems, top) && bareImage(v) {
		f.Message += ", which the image does not have"
		f.Severity = diag.SeverityError
	}
	return []rule.Finding{f}
}

// openedMissing reports a folder of the project that the editor opens and that is not there.
func openedMissing(v *rule.View, n *jsonc.Node, opened string) []rule.Finding {
	if v.Tree == nil {
		return nil
	}
	folder, known := workspaceOnHost(v)
	inside := known && folder != v.Home
	if !inside || !isMissing(v, folder) || !isProject(v) || madeOnHost(v, folder) {
		return nil
	}
	for _, r := range slices.Concat(v.ServiceMounts(), v.Mounts()) { // the engine makes the folders of its mounts
		if target := r.Mount.Target; otherVariable(target) || within(path.Clean(target), path.Clean(opened)) {
			return nil
		}
	}
	f := v.AtValue(n, fmt.Sprintf("the project has no folder %s to open", strings.TrimPrefix(folder, v.Home+"/")),
		"name a folder that is there, or add the folder to the repository")
	if len(v.Of(rights.Hook)) > 0 { // which the engine would start in it
		f.Message += ", and no hook starts there"
		f.Severity = diag.SeverityError
	}
	return []rule.Finding{f}
}

// otherVariable reports whether a path has a variable besides the one for the name of the project's folder.
func otherVariable(name string) bool {
	return strings.Contains(strings.ReplaceAll(name, basename, ""), "$")
}

// meet reports whether one folder is the other or above it. The project's folder may have any name.
func meet(a, b string) bool {
	in, of := strings.FieldsFunc(path.Clean(a), isSlash), strings.FieldsFunc(path.Clean(b), isSlash)
	for n := range min(len(in), len(of)) {
		if in[n] != of[n] && !strings.Contains(in[n]+of[n], basename) {
			return false
		}
	}
	return true
}

func isSlash(c rune) bool { return c == '/' }

// mounted reports whether a mount, as far as it is known, brings the folder or something below it.
func mounted(folder string, list []rights.Right) bool {
	return slices.ContainsFunc(list, func(r rights.Right) bool {
		target := r.Mount.Target
		return target != "" && (otherVariable(target) || meet(folder, target))
	})
}

// serviceWithoutProject reports a service of Compose that has nothing mounted where the
// editor opens the project.
func serviceWithoutProject(v *rule.View, n *jsonc.Node, folder string) []rule.Finding {
	dev := v.Composed.Dev()
	if f := ownFolderOpened(v, folder); f.Message != "" {
		return []rule.Finding{f}
	}
	if f := aboveProject(v, folder); f.Message != "" {
		return []rule.Finding{f}
	}
	if f := emptyVolumeOpened(v, folder); f.Message != "" {
		return []rule.Finding{f}
	}
	if f := belowProject(v, n, folder); f.Message != "" {
		return []rule.Finding{f}
	}
	if path.Clean(folder) == "/" || mounted(folder, v.ServiceMounts()) || mounted(folder, v.Mounts()) ||
		dev == nil || !composeRead(v) {
		return nil
	}
	source, err := filepath.Rel(path.Join(v.Dir, path.Dir(v.Composed.First)), v.Home)
	if err != nil {
		return nil
	}
	target := folder
	if above, _, named := strings.Cut(folder, "/"+basename); named && above != "" { // Compose does not know the variable
		source, target = path.Join(source, ".."), above
	}
	for _, r := range v.ServiceMounts() {
		if at := projectAt(v, r); at != "" {
			return []rule.Finding{v.AtValue(n, fmt.Sprintf("the service %s mounts the project at %s, and nothing at %s", dev.Name,
				at, folder), fmt.Sprintf(`write "workspaceFolder": %q`, at))}
		}
	}
	return []rule.Finding{atService(dev, fmt.Sprintf("the service %s does not mount the project at %s, the folder that the editor opens",
		dev.Name, folder), fmt.Sprintf("add to its volumes: - %s:%s", filepath.ToSlash(source), target))}
}

// projectAt returns where a mount of a service has the project, "" for nowhere.
func projectAt(v *rule.View, r rights.Right) string {
	if r.Mount.Type != "bind" || path.IsAbs(r.Mount.Source) {
		return ""
	}
	switch path.Join(v.Dir, path.Dir(v.Composed.First), r.Mount.Source) {
	case path.Clean(v.Home):
		return r.Mount.Target
	case path.Join(v.Home, ".."):
		return path.Join(r.Mount.Target, basename)
	}
	return ""
}

// belowProject reports a service that has the project itself where the editor opens a folder of the project's name in it. The
// finding has no message when that is not so.
func belowProject(v *rule.View, n *jsonc.Node, folder string) rule.Finding {
	parent, named := strings.CutSuffix(path.Clean(folder), "/"+basename)
	for _, r := range v.ServiceMounts() {
		if named && path.Clean(r.Mount.Target) == parent && projectAt(v, r) == r.Mount.Target {
			return v.AtValue(n, fmt.Sprintf("%s is the project itself, which has no folder of its own name", parent),
				fmt.Sprintf(`write "workspaceFolder": %q, or mount the folder above the project there`, parent))
		}
	}
	return rule.Finding{}
}

// ownFolderOpened reports a service that has the configuration's folder where the editor opens the project: the paths
// of a Compose file begin in its own folder. The finding has no message when that is not so.
func ownFolderOpened(v *rule.View, folder string) rule.Finding {
	for _, r := range v.ServiceMounts() {
		source := path.Clean(r.Mount.Source)
		if path.Clean(r.Mount.Target) == path.Clean(folder) && r.Mount.Type == "bind" && source == "." && v.InFolder() &&
			path.Join(v.Dir, path.Dir(v.Composed.First)) == v.Dir {
			return rule.AtRight(r, fmt.Sprintf("%s is the folder of this file, and the project lies above it", r.Mount.Source),
				"write .. for the project's folder")
		}
	}
	return rule.Finding{}
}

// aboveProject reports a further Compose file whose paths are meant from its own folder: all paths begin in the folder of the
// first file, and from there they leave the project. The finding has no message when that is not so.
func aboveProject(v *rule.View, folder string) rule.Finding {
	names := rights.Texts(v.Root.Member("dockerComposeFile"))
	if v.Tree == nil || len(names) < 2 {
		return rule.Finding{}
	}
	leaves := func(folder, name string) bool {
		full := path.Join(folder, name)
		return devcontainer.LeavesTree(full) || full != v.Home && !strings.HasPrefix(full, v.Home+"/") && v.Home != "."
	}
	judge := func(place rights.Place, name string) rule.Finding {
		i := slices.Index(v.Compose, place.Doc)
		if i < 1 || !strings.HasPrefix(name, "..") {
			return rule.Finding{}
		}
		first, _ := v.Path(names[0].Text)
		own, _ := v.Path(names[i].Text)
		if path.Dir(own) == path.Dir(first) || !leaves(path.Dir(first), name) || leaves(path.Dir(own), name) {
			return rule.Finding{}
		}
		return rule.Finding{Place: place,
			Message: fmt.Sprintf("%s is the folder above the project: the paths of all Compose files begin in that of the first", name),
			Hint:    fmt.Sprintf("write . for the folder of %s", path.Base(names[0].Text))}
	}
	for _, r := range v.ServiceMounts() { // people mount the folder of all projects above the one that they open
		if f := judge(r.Place, r.Mount.Source); path.Clean(r.Mount.Target) == path.Clean(folder) && r.Mount.Type == "bind" && f.Message != "" {
			return f
		}
	}
	build := v.Composed.Dev().Get("build")
	for _, n := range []*compose.Node{build, build.Get("context")} {
		if n != nil && n.Kind == compose.Scalar {
			if f := judge(rule.ComposePlace(n), n.Text); f.Message != "" {
				return f
			}
		}
	}
	return rule.Finding{}
}

// emptyVolumeOpened reports a service that has a volume without a name, new and empty for each container, as all that it
// mounts where the editor opens the project; or one with a name, where a hook asks for files of the project. The finding has no
// message when that is not so.
func emptyVolumeOpened(v *rule.View, folder string) (f rule.Finding) {
	filled := false
	v.EachHookText(func(text string) { filled = filled || strings.Contains(text, "clone") })
	if filled {
		return rule.Finding{}
	}
	for _, r := range slices.Concat(v.ServiceMounts(), v.Mounts()) {
		if r.Mount.Target == "" || strings.Contains(r.Mount.Target, "$") || !meet(r.Mount.Target, folder) {
			continue
		}
		onceEmpty := r.Mount.Source == "" || v.Build == nil && rule.Once(v, "a hook asks for the project", hooksAskForProject)
		if r.Mount.Type != "volume" || !onceEmpty || r.Key != "volumes" || path.Clean(r.Mount.Target) != path.Clean(folder) {
			return rule.Finding{}
		}
		f = rule.AtRight(r, fmt.Sprintf("%s is a new, empty volume, and the editor opens it", r.Mount.Target),
			fmt.Sprintf("mount the project there: - ..:%s", folder))
	}
	return f
}

// hooksAskForProject reports whether a hook inside the container names a script or a list of packages that the project has.
func hooksAskForProject(v *rule.View) (asks bool) {
	if v.Tree == nil {
		return false
	}
	eachHook(v, func(property string, n *jsonc.Node) {
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			script, _ := scriptOf(cmd)
			for _, name := range []string{script, packageList(cmd)} {
				full := path.Join(v.Home, name)
				inside := name != "" && property != "initializeCommand" && !devcontainer.LeavesTree(full)
				asks = asks || inside && v.Tree.Kind(full) == devcontainer.File
			}
		})
	})
	return asks
}

// bareImage reports whether the image is an official one that has no folder of a project's.
func bareImage(v *rule.View) bool {
	image, ok := v.Root.Member("image").Str()
	if !ok || v.HasFeatures() {
		return false
	}
	of, _ := baseimage.Of(image)
	return of.Official()
}

// workspaceUnopened reports a mount of the workspace in a folder that the editor does not open.
func workspaceUnopened(v *rule.View) []rule.Finding {
	n := v.Root.Member("workspaceMount")
	s, ok := n.Str()
	if !ok || s == "" || v.Root.Member("workspaceFolder") != nil || v.Root.Member("dockerComposeFile") != nil ||
		schema.Misspelt(v.Mismatches, v.Root, "workspaceFolder") {
		return nil
	}
	m := rights.ParseMount(s)
	if m.Target == "" || meet(m.Target, "/workspaces/"+basename) {
		return nil // the engine refuses it, or it is opened by default
	}
	f := v.AtValue(n, fmt.Sprintf("this brings the files to %s, but without workspaceFolder the editor opens /workspaces/%s",
		m.Target, basename), fmt.Sprintf(`add "workspaceFolder": %q`, m.Target))
	if strings.HasPrefix(m.Target, "/") {
		f.Edits = v.Config.AddMember(v.Root, "workspaceFolder", jsonc.Quote(m.Target))
	}
	return []rule.Finding{f}
}

// projectCovered reports a volume at the place of a folder that the same list of volumes mounts above it: Compose takes the later one, and
// the project is not in the container.
func projectCovered(v *rule.View) (out []rule.Finding) {
	dev := v.Composed.Dev()
	if dev == nil || dev.Get("volumes") == nil {
		return nil
	}
	for asked, n := range dev.Get("volumes").Items {
		m := volumeOf(n)
		if asked == mostAsked {
			break
		}
		if n.Kind != compose.Scalar || !m.named || n.Doc != dev.Doc || n.Start < dev.Start || !path.IsAbs(m.target) {
			continue
		}
		for line := range strings.Lines(string(n.Doc.Src[dev.Start:n.Start])) {
			item, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
			parts := compose.SplitVolume(strings.Trim(strings.TrimSpace(item), `"'`))
			if ok && len(parts) > 1 && strings.HasPrefix(parts[0], ".") && path.Clean(parts[1]) == path.Clean(m.target) {
				out = append(out, rule.AtCompose(n,
					fmt.Sprintf("this volume takes the place of %s, mounted at %s above, so its files are not there", parts[0], m.target),
					"keep one of the two"))
				break
			}
		}
	}
	return out
}
