package recipe

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates"
)

// Options are the options of the firewall Feature in config, a devcontainer.json, as a
// file of settings, whose lists stand in the same lines. It is nil where there is no such
// Feature, or an option depends on a variable. name is quoted in errors.
func Options(name string, config []byte) (*settings.File, error) {
	options := templates.FirewallOptions(config)
	if options == nil {
		return nil, nil
	}
	slices.SortStableFunc(options, func(a, b templates.FirewallOption) int { return a.Line - b.Line })
	var b strings.Builder
	b.WriteString(`{"network": {"mode": "allowlist"`)
	line := 1
	for _, o := range options {
		if o.Entries == nil {
			o.Entries = []string{}
		}
		entries, err := json.Marshal(o.Entries)
		if err != nil {
			return nil, err
		}
		b.WriteString(strings.Repeat("\n", max(o.Line-line, 0)))
		line = max(o.Line, line)
		fmt.Fprintf(&b, `, %q: %s`, o.Name, entries)
	}
	b.WriteString("}}\n")
	file := settings.ParseFile(name, []byte(b.String()), settings.NoFiles)
	if file.Settings == nil {
		return nil, file.Err()
	}
	return file, nil
}

// Options are those of the Feature in the dev container, where a run can take that; nil
// where there are none that can be used.
func (r *Recipe) Options() *settings.Settings {
	file := r.OptionsIn("")
	if file == nil {
		return nil
	}
	return &file.Settings.Settings
}

// OptionsIn are Options with their places in the project's folder.
func (r *Recipe) OptionsIn(project string) *settings.File {
	if r == nil || r.Unusable != "" {
		return nil
	}
	file, err := Options(filepath.Join(project, filepath.FromSlash(r.File)), r.Content[r.File])
	if err != nil || file == nil {
		return nil
	}
	file.Settings.Network.Mode = "" // whoever starts a run says that
	return file
}
