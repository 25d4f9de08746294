package templates

import (
	"fmt"
	"path"
	"slices"

	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/settings"
)

// Facts is what the project folder means for its dev container.
type Facts struct {
	// ReadOnly lists paths of the project that exist and act on the host when
	// somebody opens, builds or commits there: slash-separated, relative. They
	// are mounted over themselves, read-only.
	ReadOnly []string `json:"readOnly,omitempty"`
	// Pinned lists folders that stay writable but hold a read-only path. They
	// are mounted over themselves, because a folder that is no mount point can
	// be renamed, and everything mounted inside goes with it.
	Pinned []string `json:"pinned,omitempty"`
	// Covered lists paths that would act on the host and are missing or empty.
	// An empty read-only file system covers each, which needs no source that
	// every clone would have to have.
	Covered []string `json:"covered,omitempty"`
}

// Adapt returns files with what the facts and the user's wishes add: mounts
// in devcontainer.json, entries of the lists of "network" in sandbox.jsonc. join is
// the engine's network that the container is put into, "" = the usual one; a template
// of Compose stays in its own. Comments and layout of the template stay. It is pure.
func Adapt(files []File, facts Facts, network settings.Lists, join string) ([]File, error) {
	var mounts []string
	for _, p := range facts.Pinned {
		mounts = append(mounts, selfMount(p))
	}
	for _, p := range facts.ReadOnly {
		mounts = append(mounts, selfMount(p)+",readonly")
	}
	for _, p := range facts.Covered {
		mounts = append(mounts, "type=tmpfs,target=/workspaces/${localWorkspaceFolderBasename}/"+p+",readonly")
	}
	out := make([]File, len(files))
	for i, f := range files {
		var err error
		switch path.Base(f.Path) {
		case "devcontainer.json":
			if MountsWorkspace(files) {
				f.Content, err = appendTexts(f.Content, "/mounts", mounts)
			}
			if err == nil && join != "" && MountsWorkspace(files) {
				f.Content, err = appendTexts(f.Content, "/runArgs", []string{networkArg + join})
			}
		case "sandbox.jsonc":
			if f.Content, err = appendTexts(f.Content, "/network/presets", network.Presets); err == nil {
				f.Content, err = appendTexts(f.Content, "/network/allow", network.Allow)
			}
			if err == nil && len(network.Private) > 0 {
				f.Content, err = appendTexts(withPrivate(f.Content), "/network/private", network.Private)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		out[i] = f
	}
	return out, nil
}

// networkArg begins the run argument that puts a container into a network.
const networkArg = "--network="

// MountsWorkspace reports whether the dev container works in the project's
// folder itself, and not in a clone of it, so that what the agent writes there
// acts on the host.
func MountsWorkspace(files []File) bool {
	for _, f := range files {
		if path.Base(f.Path) == "devcontainer.json" {
			return rootOf(f.Content).Member("workspaceMount") != nil
		}
	}
	return false
}

func selfMount(p string) string {
	return "type=bind,source=${localWorkspaceFolder}/" + p + ",target=/workspaces/${localWorkspaceFolderBasename}/" + p
}

// withPrivate adds an empty list "private" to the network of a template's settings, which
// have none.
func withPrivate(src []byte) []byte {
	doc, _ := jsonc.Parse("", src)
	if doc == nil || doc.Root.Find("/network/private") != nil {
		return src
	}
	src, _ = jsonc.Apply(src, doc.AddMember(doc.Root.Find("/network"), "private", "[]"))
	return src
}

// appendTexts adds texts that are not there yet to the array at pointer, laid
// out like its other elements.
func appendTexts(src []byte, pointer string, texts []string) ([]byte, error) {
	for _, text := range texts {
		doc, findings := jsonc.Parse("", src)
		if doc == nil {
			return nil, fmt.Errorf("line %d: %s", findings[0].Line, findings[0].Message)
		}
		array := doc.Root.Find(pointer)
		if array == nil || array.Kind != jsonc.Array {
			return nil, fmt.Errorf("no array at %s", pointer)
		}
		if !slices.ContainsFunc(array.Elements, func(e *jsonc.Node) bool { return e.Text == text }) {
			src, _ = jsonc.Apply(src, doc.AddElement(array, jsonc.Quote(text)))
		}
	}
	return src, nil
}
