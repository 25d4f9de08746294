package templates

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/release"
)

//go:embed all:src
var embedded embed.FS

// Errors of Load and Render that a caller may want to tell from others.
var (
	ErrUnknown = errors.New("unknown template")
	ErrOption  = errors.New("template option")
)

// Template is one dev container Template.
type Template struct {
	ID          string            `json:"id"`
	Version     string            `json:"version"` // semantic version
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Options     map[string]Option `json:"options"`

	files    fs.FS  // the template's folder
	manifest []byte // its devcontainer-template.json, with this program's init image
}

// manifestFile is what makes a folder a Template.
const manifestFile = "devcontainer-template.json"

// sourceInitImage stands in the sources for the init image of whoever publishes
// them, at the version that is published.
const sourceInitImage = "ghcr.io/org/claude-sandbox-init:v0.1.0-dev"

// Option is one value that a template's files refer to.
type Option struct {
	Description string   `json:"description"`
	Default     string   `json:"default"`
	Proposals   []string `json:"proposals"`
	Enum        []string `json:"enum"` // if set, nothing else is accepted
}

// IDs returns the names of the embedded templates, sorted.
func IDs() []string {
	entries, err := embedded.ReadDir("src")
	if err != nil {
		panic(err) // the folder is embedded at compile time
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.Name()
	}
	return ids
}

// Load returns an embedded template. The error wraps ErrUnknown when there is
// none of that name.
func Load(id string) (*Template, error) {
	if !slices.Contains(IDs(), id) {
		hint := "known templates: " + strings.Join(IDs(), ", ")
		if best := diag.Suggest(id, IDs()); best != "" {
			hint = fmt.Sprintf("did you mean %q?", best)
		}
		return nil, diag.WithHint(fmt.Errorf("%w %q", ErrUnknown, id), "%s", hint)
	}
	files, err := fs.Sub(embedded, path.Join("src", id))
	if err != nil {
		return nil, err
	}
	text, err := fs.ReadFile(files, manifestFile)
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", id, err)
	}
	// The init image goes with the program that carries its content.
	t := &Template{files: files, manifest: bytes.ReplaceAll(text, []byte(sourceInitImage), []byte(release.InitImage()))}
	if err := json.Unmarshal(t.manifest, t); err != nil {
		return nil, fmt.Errorf("template %s: %w", id, err)
	}
	return t, nil
}

// Manifest returns the template's devcontainer-template.json.
func (t *Template) Manifest() []byte { return bytes.Clone(t.manifest) }

// Presets returns the presets that the template's own policy has with these options.
func (t *Template) Presets(options map[string]string) (names []string) {
	files, err := t.Render(options)
	if err != nil {
		return nil
	}
	for _, f := range files {
		if path.Base(f.Path) != "sandbox.jsonc" {
			continue
		}
		doc, _ := jsonc.Parse(f.Path, f.Content)
		for _, e := range doc.Root.Find("/network/presets").Elements {
			names = append(names, e.Text)
		}
	}
	return names
}

// values completes what the user gave with the defaults, or says which option
// is wrong.
func (t *Template) values(given map[string]string) (map[string]string, error) {
	names := slices.Sorted(maps.Keys(t.Options))
	values := map[string]string{}
	for name, o := range t.Options {
		values[name] = o.Default
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		o, ok := t.Options[name]
		if !ok {
			hint := "known options: " + strings.Join(names, ", ")
			if best := diag.Suggest(name, names); best != "" {
				hint = fmt.Sprintf("did you mean %q?", best)
			}
			return nil, diag.WithHint(fmt.Errorf("%w %q: the template %s has none of that name", ErrOption, name, t.ID), "%s", hint)
		}
		if len(o.Enum) > 0 && !slices.Contains(o.Enum, given[name]) {
			return nil, diag.WithHint(fmt.Errorf("%w %s: %q is not accepted", ErrOption, name, given[name]), "accepted: %s",
				strings.Join(o.Enum, ", "))
		}
		if given[name] == "" && o.Default != "" {
			return nil, diag.WithHint(fmt.Errorf("%w %s is empty", ErrOption, name), "leave it out for %q", o.Default)
		}
		values[name] = given[name]
	}
	return values, t.pinned(given)
}

// pinned refuses a version without the checksums that belong to it: the build
// would fail on them, minutes later.
func (t *Template) pinned(given map[string]string) error {
	version, ok := given["claudeVersion"]
	if !ok || version == t.Options["claudeVersion"].Default {
		return nil
	}
	if given["claudeIntegrityX64"] == "" && given["claudeIntegrityArm64"] == "" {
		return diag.WithHint(fmt.Errorf("%w claudeVersion: the checksum of Claude Code %s is not known here", ErrOption, version),
			"add --option claudeIntegrityX64=… (and Arm64); npm view @anthropic-ai/claude-code-linux-x64@%s dist.integrity prints it", version)
	}
	return nil
}
