package lint

import (
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
)

// workspaceOnHost returns the folder in the tree that hooks inside run in, as far as it
// is known.
func workspaceOnHost(v *rule.View) (folder string, known bool) {
	at := rule.Once(v, "workspace on the host", func(v *rule.View) placeOnHost {
		folder, known := findWorkspace(v)
		return placeOnHost{folder, known}
	})
	return at.folder, at.known
}

// placeOnHost is a folder in the tree.
type placeOnHost struct {
	folder string
	known  bool
}

func findWorkspace(v *rule.View) (folder string, known bool) {
	if v.Root.Member("workspaceMount") != nil && !v.ByCompose() {
		return "", false
	}
	inside, ok := v.Root.Member("workspaceFolder").Str()
	if v.ByCompose() {
		return serviceOnHost(v, inside)
	}
	if !ok {
		return v.Home, v.Root.Member("workspaceFolder") == nil && !v.GitAbove()
	}
	rest, ok := strings.CutPrefix(inside, "/workspaces/"+basename)
	if !ok || rest != "" && rest[0] != '/' || v.GitAbove() {
		return "", false
	}
	return path.Join(v.Home, rest), true
}

// composeRead reports whether all files that make the project of Compose are there and can be read.
func composeRead(v *rule.View) bool {
	return v.Composed != nil && !v.LacksCompose() && v.Composed.Project.Incomplete() == "" && len(v.Composed.Project.Unread) == 0
}

// serviceOnHost is findWorkspace of a service of Compose: what it mounts at the folder, or above it, says where that lies.
func serviceOnHost(v *rule.View, inside string) (folder string, known bool) {
	if v.Composed.Dev() == nil || !composeRead(v) || ownFolderOpened(v, inside).Message != "" || !path.IsAbs(inside) ||
		otherVariable(inside) {
		return "", false
	}
	var at rights.Mount
	for _, r := range slices.Concat(v.ServiceMounts(), v.Mounts()) {
		target := path.Clean(r.Mount.Target)
		if otherVariable(target) {
			return "", false
		}
		if (path.Clean(inside) == target || strings.HasPrefix(path.Clean(inside), strings.TrimSuffix(target, "/")+"/")) &&
			len(target) >= len(at.Target) {
			at = r.Mount
			at.Target = target
		}
	}
	source := path.Clean(at.Source)
	relative := at.Source != "" && at.Type == "bind" && !path.IsAbs(source) && !strings.ContainsAny(source, "$~:\\")
	if !relative {
		return "", false
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(path.Clean(inside), at.Target), "/")
	folder = path.Join(v.Dir, path.Dir(v.Composed.First), source)
	above := path.Join(v.Home, "..")
	if more, ok := strings.CutPrefix(rest+"/", basename+"/"); ok && folder == above {
		folder, rest = v.Home, more
	}
	folder = path.Join(folder, rest)
	return folder, !strings.Contains(rest, "$") && !devcontainer.LeavesTree(folder)
}
